//! What a credential allows.
//!
//! A scope is an area with a right, `file:read`. A credential may hold an area alone, `file`, which covers every right
//! in it, or `*`. One that names no scopes at all may do everything; one with an empty list may do nothing.

use std::fmt;
use std::sync::Arc;

/// The scopes of a credential.
#[derive(Clone, PartialEq, Eq)]
pub struct Scopes(Option<Arc<[String]>>);

impl Scopes {
    /// No restriction.
    pub const ALL: Self = Self(None);

    /// These only.
    pub fn only<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Self {
        Self(Some(scopes.into_iter().map(Into::into).collect()))
    }

    /// Whether they cover what an operation needs, `<area>:<right>`.
    pub fn permit(&self, needed: &str) -> bool {
        let Some(held) = &self.0 else {
            return true;
        };
        let area = needed.split(':').next().unwrap_or_default();
        held.iter().any(|scope| scope == "*" || scope == needed || scope == area)
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("*"),
            Some(scopes) => f.write_str(&scopes.join(" ")),
        }
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scopes({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_covers_its_rights_and_nothing_else() {
        let held = Scopes::only(["file", "shell:read"]);
        for (needed, permitted) in [
            ("file:read", true),
            ("file:write", true),
            ("shell:read", true),
            ("shell:write", false),
            ("files:read", false),
            ("bash:read", false),
            ("", false),
        ] {
            assert_eq!(held.permit(needed), permitted, "{needed}");
        }
    }

    #[test]
    fn no_list_is_everything_and_an_empty_list_is_nothing() {
        assert!(Scopes::ALL.permit("shell:write"));
        assert!(Scopes::only(["*"]).permit("shell:write"));
        assert!(!Scopes::only([""; 0]).permit("shell:read"));
        assert!(!Scopes::only(["file:*", ":read", "FILE"]).permit("file:read"));
    }
}
