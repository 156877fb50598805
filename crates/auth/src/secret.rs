//! A text that must not be shown.

use std::fmt;

/// A secret. It can be compared and used, but not printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret; white space around it is none of it, since files end in a line break.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        let secret = Secret::new(" hush-canary\n");
        assert_eq!(secret.expose(), "hush-canary");
        assert!(!format!("{secret:?} {:#?}", Some(&secret)).contains("canary"));
    }
}
