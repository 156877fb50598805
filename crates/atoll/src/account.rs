//! The user this server runs as, by the system's own list. A container may run under a uid that no list knows: then
//! the number is the name.

use std::path::{Path, PathBuf};

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    /// Login name.
    pub(crate) name: String,
    /// Home directory, where the list has one.
    pub(crate) home: Option<PathBuf>,
}

impl Account {
    /// The user of this process.
    pub(crate) fn current() -> Self {
        let list = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self::find(&list, rustix::process::geteuid().as_raw())
    }

    fn find(list: &str, uid: u32) -> Self {
        let number = uid.to_string();
        let entry = list.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            let home = fields.clone().nth(4)?;
            (fields.nth(1)? == number).then_some((name, home))
        });
        let (name, home) = entry.unwrap_or((&number, ""));
        Self {
            name: name.to_owned(),
            home: Some(Path::new(home)).filter(|home| home.is_absolute()).map(Path::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number() {
        let list = "root:x:0:0:root:/root:/bin/bash\nbroken\n\
             gem:x:1000:1000:,,,:/home/gem:/bin/bash\n";
        let gem = Account::find(list, 1000);
        assert_eq!(gem.name, "gem");
        assert_eq!(gem.home, Some(PathBuf::from("/home/gem")));
        assert_eq!(Account::find(list, 0).name, "root");
    }

    #[test]
    fn an_unlisted_user_goes_by_its_number() {
        let account = Account::find("root:x:0:0:root:/root:/bin/bash\n", 12345);
        assert_eq!(account.name, "12345");
        assert_eq!(account.home, None);
    }
}
