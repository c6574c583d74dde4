// Calls the HTTP API of the server that served this page.

export class ApiError extends Error {
	constructor(status, { code = "internal", message, remedy, where } = {}) {
		super(message || `the server replied with status ${status}`);
		Object.assign(this, { status, code, remedy, where });
	}
}

/** Returns the key from the address and removes it there, so that it gets into no history or bookmark. */
function popToken() {
	const address = new URL(location.href);
	const token = address.searchParams.get("token");
	if (token !== null) {
		address.searchParams.delete("token");
		history.replaceState(null, "", address);
	}
	return token || "";
}

let token = popToken();
let requestToken = async () => "";

/** Sets the function that asks the user for the key when the server requires one. */
export function onLocked(request) {
	requestToken = request;
}

async function errorOf(response) {
	const text = await response.text();
	try {
		return new ApiError(response.status, JSON.parse(text).error);
	} catch {
		return new ApiError(response.status, { message: text.slice(0, 300) });
	}
}

async function send(path, options) {
	try {
		return await fetch(path, options);
	} catch (error) {
		if (error.name === "AbortError") throw error;
		throw new ApiError(0, { code: "gone", message: "the server does not respond" });
	}
}

async function call(method, path, { body, accept = "application/json", ...options } = {}) {
	for (;;) {
		const headers = { Accept: accept };
		if (token) headers.Authorization = `Bearer ${token}`;
		if (body !== undefined) headers["Content-Type"] = "application/json";
		const response = await send(path, {
			...options,
			method,
			headers,
			body: body === undefined ? undefined : JSON.stringify(body),
			credentials: "omit",
			cache: "no-store",
		});
		if (response.ok) return response;
		const error = await errorOf(response);
		if (response.status !== 401) throw error;
		const next = await requestToken(error);
		if (!next) throw error;
		token = next;
	}
}

export const get = async (path) => (await call("GET", path)).json();
export const post = async (path, body = {}) => (await call("POST", path, { body })).json();
export const remove = async (path, options) => (await call("DELETE", path, options)).json();
export const download = async (path) => (await call("GET", path, { accept: "*/*" })).arrayBuffer();

/** Yields the events of a stream as they arrive. */
export async function* stream(path, body, signal) {
	const response = await call("POST", path, { body, accept: "application/x-ndjson", signal });
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let pending = "";
	for (;;) {
		const { value, done } = await reader.read();
		if (done) break;
		const lines = (pending + value).split("\n");
		pending = lines.pop();
		for (const line of lines) if (line) yield JSON.parse(line);
	}
	if (pending.trim()) yield JSON.parse(pending);
}
