//! Gives back the memory that only the start of a process needed.
//!
//! Starting touches code all over a large program, and the kernel maps the neighbourhood of all that is touched: most of
//! what an idle server seems to hold is code it ran once. What is unmapped here comes back from the file page by page, as
//! it is needed.

#![expect(unsafe_code, reason = "unmapping pages has no safe interface")]

use std::ffi::c_void;
use std::io;
use std::ops::Range;

/// Unmaps the pages of programs and libraries that nobody wrote to. Call it when a process has started and waits.
pub fn give_back_start() -> io::Result<()> {
    let maps = std::fs::read_to_string("/proc/self/smaps")?;
    for pages in unwritten(&maps) {
        // SAFETY: these pages are mapped from a file, may not be written and hold nothing of this process: when they are
        // touched again, running code among them, the kernel maps the same content.
        let dropped = unsafe {
            libc::madvise(pages.start as *mut c_void, pages.end - pages.start, libc::MADV_DONTNEED)
        };
        // Pages locked into memory stay there, as whoever locked them wants it.
        if dropped != 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL) {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Mappings of files that may be read or run only, and of which no page is this process's own: relocated data is.
fn unwritten(maps: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut current = None;
    for line in maps.lines() {
        if let Some(mapping) = Mapping::read(line) {
            current = mapping.is_read_only_file.then_some(mapping.pages);
        } else if let Some(own) = line.strip_prefix("Anonymous:")
            && own.trim() == "0 kB"
        {
            found.extend(current.take());
        }
    }
    found
}

struct Mapping {
    pages: Range<usize>,
    is_read_only_file: bool,
}

impl Mapping {
    /// The mapping that this line begins, if it begins one: `start-end rights offset device inode path`.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        let pages = address(start)?..address(end)?;
        let (rights, path) = (words.next()?, words.nth(3));
        let read_only = matches!(rights, "r-xp" | "r--p");
        let is_file = path.is_some_and(|path| path.starts_with('/'));
        Some(Self { pages, is_read_only_file: read_only && is_file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_that_come_back_as_they_were_are_given_back() {
        let maps = "\
            1000-2000 r--p 00000000 fe:00 7 /usr/bin/atoll\nRss: 4 kB\nAnonymous:             0 kB\nVmFlags: rd\n\
            2000-5000 r-xp 00001000 fe:00 7 /usr/bin/atoll (deleted)\nAnonymous:             0 kB\n\
            5000-6000 r--p 00004000 fe:00 7 /usr/bin/atoll\nAnonymous:             4 kB\n\
            6000-7000 rw-p 00005000 fe:00 7 /usr/bin/atoll\nAnonymous:             0 kB\n\
            7000-8000 rw-p 00000000 00:00 0\nAnonymous:             0 kB\n\
            8000-9000 r-xp 00000000 00:00 0 [vdso]\nAnonymous:             0 kB\n\
            9000-a000 r--s 00000000 fe:00 9 /etc/locale\nAnonymous:             0 kB\n";
        assert_eq!(unwritten(maps), [0x1000..0x2000, 0x2000..0x5000]);
    }

    #[test]
    fn a_process_goes_on_with_less_memory() {
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("RssFile:")).unwrap().to_owned();
            line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        let before = resident();
        give_back_start().unwrap();
        assert!(resident() < before, "pages were given back");
        assert_eq!(format!("{:?}", ["still", "runs"]), r#"["still", "runs"]"#);
    }
}
