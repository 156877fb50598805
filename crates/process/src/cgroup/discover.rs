//! Which control group this process is in, per hierarchy, and where that lies in the file system.

use std::path::{Path, PathBuf};

/// This process's own group in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Directory of the group.
    pub directory: PathBuf,
    /// The highest directory of the hierarchy that can be seen.
    pub top: PathBuf,
    /// Version 2 of the interface, the unified hierarchy.
    pub unified: bool,
    /// Controllers of a hierarchy of version 1.
    pub controllers: Vec<String>,
}

/// Own groups as a `/proc` tells them, those of version 1 first: a controller that is mounted there is missing from the
/// unified hierarchy.
pub fn own_places(proc: &Path) -> Vec<Place> {
    let read = |path: &str| std::fs::read_to_string(proc.join(path)).unwrap_or_default();
    places(&read("self/mountinfo"), &read("self/cgroup"))
}

fn places(mounts: &str, membership: &str) -> Vec<Place> {
    let mut found: Vec<_> = mounts.lines().filter_map(|line| place(line, membership)).collect();
    found.sort_by_key(|place| place.unified);
    found
}

/// The own group below one mount, if it is one of a hierarchy and shows the group.
fn place(mount: &str, membership: &str) -> Option<Place> {
    let (before, after) = mount.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, top) = (plain(before.next()?), PathBuf::from(plain(before.next()?)));
    let mut after = after.split(' ');
    let unified = match after.next()? {
        "cgroup2" => true,
        "cgroup" => false,
        _ => return None,
    };
    let options: Vec<_> = after.nth(1)?.split(',').collect();
    let (controllers, path) = membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let here = if unified {
            controllers.is_empty()
        } else {
            !controllers.is_empty()
                && controllers.split(',').all(|controller| options.contains(&controller))
        };
        here.then_some((controllers, path))
    })?;
    let below = Path::new(path).strip_prefix(&root).ok()?;
    // A group outside what a container may see begins with "..".
    if below.components().any(|part| matches!(part, std::path::Component::ParentDir)) {
        return None;
    }
    let controllers = controllers.split(',').filter(|name| !name.is_empty());
    Some(Place {
        directory: top.join(below),
        top,
        unified,
        controllers: controllers.map(str::to_owned).collect(),
    })
}

/// A path of the mount table without its escapes: a backslash and three octal digits.
fn plain(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (code, part.get(3..)) {
            (Some(code), Some(rest)) => {
                plain.push(char::from(code));
                plain.push_str(rest);
            }
            _ => plain.push_str(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directories(mounts: &str, membership: &str) -> Vec<(String, bool, String)> {
        let shown = |place: Place| {
            (place.directory.display().to_string(), place.unified, place.controllers.join(","))
        };
        places(mounts, membership).into_iter().map(shown).collect()
    }

    #[test]
    fn a_unified_hierarchy_is_found() {
        let mounts = "25 22 0:22 / /sys rw - sysfs sysfs rw\n\
             30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(
            directories(mounts, "0::/system.slice/atoll.service\n"),
            [("/sys/fs/cgroup/system.slice/atoll.service".to_owned(), true, String::new())]
        );
    }

    #[test]
    fn of_a_mixed_layout_each_hierarchy_is_found_with_its_controllers() {
        let mounts = "33 32 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
             34 32 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             35 32 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct";
        let membership = "9:cpu,cpuacct:/\n4:memory:/jobs/7\n1:name=systemd:/\n0::/";
        assert_eq!(
            directories(mounts, membership),
            [
                ("/sys/fs/cgroup/memory/jobs/7".to_owned(), false, "memory".to_owned()),
                ("/sys/fs/cgroup/cpu,cpuacct/".to_owned(), false, "cpu,cpuacct".to_owned()),
                ("/sys/fs/cgroup/unified/".to_owned(), true, String::new()),
            ]
        );
    }

    #[test]
    fn a_container_sees_its_own_group_at_the_top() {
        let mounts = "40 39 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory";
        assert_eq!(
            directories(mounts, "4:memory:/docker/abc"),
            [("/sys/fs/cgroup/memory/".to_owned(), false, "memory".to_owned())]
        );
        let mounts = "40 39 0:30 / /sys/fs/cgroup ro - cgroup2 cgroup rw";
        assert_eq!(directories(mounts, "0::/../../outside"), []);
    }

    #[test]
    fn escapes_in_paths_are_undone() {
        assert_eq!(plain(r"/a\040b\134c"), r"/a b\c");
    }
}
