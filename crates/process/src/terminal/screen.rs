//! What a terminal's screen shows: replayed on demand, so that nobody pays for an emulator while nobody looks.

use std::num::NonZeroU16;

use super::WindowSize;

/// Bytes of the stream worth replaying: full-screen programs repaint often.
pub(super) const REPLAY: usize = 256 << 10;

/// The screen's text if a full-screen program holds it after these bytes of the stream.
pub(super) fn render_screen(bytes: &[u8], size: WindowSize) -> Option<String> {
    let mut parser = emulator(size);
    parser.process(bytes);
    let screen = parser.screen();
    // Cells a program has painted blank are not text.
    let lines = || screen.contents().lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    screen.alternate_screen().then(lines)
}

/// Answers to the questions programs ask their terminal, for when no terminal is there to answer.
pub(super) fn answers(fresh: &[u8], recent: &[u8], size: WindowSize) -> Vec<u8> {
    let mut answer = Vec::new();
    for question in [b"\x1b[c".as_slice(), b"\x1b[0c"] {
        if memchr::memmem::find(fresh, question).is_some() {
            // A VT220 with colour.
            answer.extend_from_slice(b"\x1b[?62;22c");
        }
    }
    if memchr::memmem::find(fresh, b"\x1b[6n").is_some() {
        let mut parser = emulator(size);
        parser.process(recent);
        let (row, column) = parser.screen().cursor_position();
        answer.extend_from_slice(format!("\x1b[{};{}R", row + 1, column + 1).as_bytes());
    }
    answer
}

fn emulator(size: WindowSize) -> vt100::Parser {
    let at_least_one = |length| NonZeroU16::new(length).unwrap_or(NonZeroU16::MIN);
    vt100::Parser::new(at_least_one(size.rows), at_least_one(size.columns), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: WindowSize = WindowSize { columns: 20, rows: 4 };

    #[test]
    fn a_full_screen_program_is_rendered_and_a_plain_one_is_not() {
        let stream = b"$ vi\r\n\x1b[?1049h\x1b[2J\x1b[2;3Hhello\x1b[4;1H~";
        assert_eq!(render_screen(stream, SIZE).unwrap(), "\n  hello\n\n~");
        assert_eq!(render_screen(b"plain\r\n", SIZE), None);
        assert_eq!(render_screen(b"\x1b[?1049hx\x1b[?1049lback", SIZE), None);
    }

    #[test]
    fn questions_to_the_terminal_are_answered() {
        assert_eq!(answers(b"x\x1b[6n", b"ab\r\ncde\x1b[6n", SIZE), b"\x1b[2;4R");
        assert_eq!(answers(b"\x1b[c", b"", SIZE), b"\x1b[?62;22c");
        assert_eq!(answers(b"nothing", b"", SIZE), b"");
    }
}
