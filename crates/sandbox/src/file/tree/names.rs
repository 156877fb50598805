//! Names for numbers: permission bits as `ls` shows them, users and groups.

use std::fs::File;
use std::io::Read;

/// Bytes of `/etc/passwd` and `/etc/group` that are looked at.
const DATABASE_BYTES: u64 = 4 << 20;

/// Permission bits in octal.
pub(super) fn octal(mode: u32) -> String {
    format!("{:o}", mode & 0o7777)
}

/// Type and permissions as `ls -l` shows them.
pub(super) fn symbolic(mode: u32) -> String {
    let mut text = String::with_capacity(10);
    text.push(match mode & 0o170_000 {
        0o040_000 => 'd',
        0o120_000 => 'l',
        0o010_000 => 'p',
        0o140_000 => 's',
        0o020_000 => 'c',
        0o060_000 => 'b',
        _ => '-',
    });
    for (shift, special, mark) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = mode >> shift;
        text.push(if bits & 4 == 0 { '-' } else { 'r' });
        text.push(if bits & 2 == 0 { '-' } else { 'w' });
        text.push(match (bits & 1 != 0, mode & special != 0) {
            (false, false) => '-',
            (true, false) => 'x',
            (false, true) => mark.to_ascii_uppercase(),
            (true, true) => mark,
        });
    }
    text
}

/// The users and groups of this machine. Read anew each time: it is quick, and they may change.
#[derive(Debug)]
pub(super) struct Names {
    users: &'static str,
    groups: &'static str,
}

impl Default for Names {
    fn default() -> Self {
        Self { users: "/etc/passwd", groups: "/etc/group" }
    }
}

impl Names {
    /// A user's name, or the number when it has none.
    pub(super) fn user(&self, id: u32) -> String {
        name(self.users, id)
    }

    /// A group's name, or the number when it has none.
    pub(super) fn group(&self, id: u32) -> String {
        name(self.groups, id)
    }
}

fn name(database: &str, id: u32) -> String {
    let mut text = Vec::new();
    let read =
        File::open(database).and_then(|file| file.take(DATABASE_BYTES).read_to_end(&mut text));
    let text = if read.is_ok() { String::from_utf8_lossy(&text) } else { "".into() };
    find(&text, id).map_or_else(|| id.to_string(), str::to_owned)
}

/// The name in a line `name:password:number:…`.
fn find(database: &str, id: u32) -> Option<&str> {
    database.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _password, number) = (fields.next()?, fields.next()?, fields.next()?);
        (number.parse() == Ok(id)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_read_as_ls_writes_them() {
        for (mode, text) in [
            (0o100_644, "-rw-r--r--"),
            (0o040_755, "drwxr-xr-x"),
            (0o120_777, "lrwxrwxrwx"),
            (0o010_600, "prw-------"),
            (0o041_777, "drwxrwxrwt"),
            (0o104_755, "-rwsr-xr-x"),
            (0o106_644, "-rwSr-Sr--"),
            (0o020_666, "crw-rw-rw-"),
            (0o060_660, "brw-rw----"),
            (0o140_755, "srwxr-xr-x"),
        ] {
            assert_eq!(symbolic(mode), text, "{mode:o}");
        }
        assert_eq!(octal(0o104_755), "4755");
        assert_eq!(octal(0o100_004), "4");
    }

    #[test]
    fn owners_have_names_or_numbers() {
        let database = "root:x:0:0:root:/root:/bin/sh\n\nbroken\nsomeone:x:1000:1000::/:/bin/sh\n";
        assert_eq!(find(database, 0), Some("root"));
        assert_eq!(find(database, 1000), Some("someone"));
        assert_eq!(find(database, 1), None);
        assert_eq!(Names::default().user(0), "root");
        assert_eq!(Names::default().user(4_000_000_000), "4000000000");
    }
}
