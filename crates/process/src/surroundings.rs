//! The environment of programs that are started later: what it is then, not what it was when somebody planned them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

type Variables = BTreeMap<String, String>;

/// Looked up whenever a program is started. Cheap to clone.
#[derive(Clone)]
pub struct Surroundings(Arc<dyn Fn() -> Variables + Send + Sync>);

impl Surroundings {
    /// Whatever this returns at the time.
    pub fn new(look: impl Fn() -> Variables + Send + Sync + 'static) -> Self {
        Self(Arc::new(look))
    }

    /// What it is now.
    pub fn now(&self) -> Variables {
        (self.0)()
    }
}

/// Always the same.
impl From<Variables> for Surroundings {
    fn from(variables: Variables) -> Self {
        Self::new(move || variables.clone())
    }
}

/// No values: they may be secrets of a user.
impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Surroundings")
    }
}
