// The stand of a program's HTML. This page has an origin of its own, nobody's,
// and shows what it is sent in a frame in which nothing runs and from which
// nothing is fetched: the Content-Security-Policy of this page holds in there.
addEventListener("message", (event) => {
	if (event.source !== parent || typeof event.data !== "string") return;
	const frame = document.createElement("iframe");
	frame.setAttribute("sandbox", "");
	frame.title = "HTML that the program made";
	frame.srcdoc = event.data;
	document.body.replaceChildren(frame);
});
