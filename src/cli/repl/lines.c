#include "cli/repl/lines.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

/* The original state of the terminal. A fatal signal restores it. */
static struct termios saved_termios;
static volatile sig_atomic_t is_changed;

static void
restore_terminal(void)
{
	if (is_changed)
		tcsetattr(0, TCSADRAIN, &saved_termios);
	is_changed = 0;
}

static void
restore_and_raise(int number)
{
	restore_terminal();
	signal(number, SIG_DFL);
	raise(number);
}

/* Input arrives byte by byte, without echo and without signals for keys. Output
   processing stays as it is. */
static void
set_raw_mode(void)
{
	struct termios raw = saved_termios;

	raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
	raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	is_changed = tcsetattr(0, TCSADRAIN, &raw) == 0;
}

void
repl_lines_open(struct repl_lines *l)
{
	l->terminal =
		isatty(0) && isatty(1) && tcgetattr(0, &saved_termios) == 0;
	if (!l->terminal)
		return;
	signal(SIGTERM, restore_and_raise);
	signal(SIGHUP, restore_and_raise);
}

static void
write_terminal(const char *text, size_t len)
{
	/* Ignore errors: if the terminal is gone, the next read fails too. */
	if (write(1, text, len) < 0)
		return;
}

static unsigned
terminal_columns(void)
{
	struct winsize size;

	return ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
							       : 80;
}

static void
draw_line(const struct repl_lines *l, const char *prompt)
{
	own(buf) struct buf shown = BUF_INIT(2 * LINE_EDIT_BYTES);

	if (line_edit_draw(&l->edit, prompt, terminal_columns(), &shown) == 0)
		write_terminal(shown.data, shown.len);
}

static ssize_t
read_some(char *to, size_t size)
{
	ssize_t n;

	do
		n = read(0, to, size);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Bytes that arrive together are drawn once. */
static enum line_state
edit_line(struct repl_lines *l, const char *prompt)
{
	enum line_state state = LINE_MORE;
	char piece[256];
	ssize_t n;

	draw_line(l, prompt);
	while (state == LINE_MORE) {
		if (!l->ahead.len) {
			n = read_some(piece, sizeof(piece));
			if (n <= 0 || buf_add(&l->ahead, piece, (size_t)n) < 0)
				return LINE_END;
		}
		while (l->ahead.len && state == LINE_MORE) {
			state = line_edit_feed(&l->edit,
					       (unsigned char)l->ahead.data[0]);
			buf_drop(&l->ahead, 1);
		}
		l->edit.at = state == LINE_DONE ? l->edit.text.len : l->edit.at;
		draw_line(l, prompt);
	}
	return state;
}

static enum line_state
read_terminal(struct repl_lines *l, const char *prompt, struct buf *out)
{
	enum line_state state;

	set_raw_mode();
	line_edit_begin(&l->edit);
	state = edit_line(l, prompt);
	restore_terminal();
	write_terminal("\n", 1);
	if (state == LINE_DONE &&
	    (buf_add(out, buf_text(&l->edit.text), l->edit.text.len) < 0 ||
	     line_edit_remember(&l->edit, buf_text(&l->edit.text)) < 0))
		return LINE_STOPPED; /* out of memory: begin a new line */
	return state;
}

/* A line that is too long arrives in pieces, and fails as a program. */
static enum line_state
read_plain(struct repl_lines *l, struct buf *out)
{
	char piece[4096];
	const char *end;

	while (!(end = memchr(buf_text(&l->ahead), '\n', l->ahead.len)) &&
	       !l->ended && l->ahead.len + sizeof(piece) <= l->ahead.cap) {
		ssize_t n = read_some(piece, sizeof(piece));

		l->ended = n <= 0;
		if (n > 0 && buf_add(&l->ahead, piece, (size_t)n) < 0)
			l->ended = true;
	}
	if (!l->ahead.len)
		return LINE_END;
	if (buf_add(out, l->ahead.data,
		    end ? (size_t)(end - l->ahead.data) : l->ahead.len) < 0)
		return LINE_END;
	buf_drop(&l->ahead,
		 end ? (size_t)(end - l->ahead.data) + 1 : l->ahead.len);
	return LINE_DONE;
}

enum line_state
repl_lines_read(struct repl_lines *l, const char *prompt, struct buf *out)
{
	return l->terminal ? read_terminal(l, prompt, out) : read_plain(l, out);
}

void
repl_lines_free(struct repl_lines *l)
{
	restore_terminal();
	line_edit_free(&l->edit);
	buf_free(&l->ahead);
}
