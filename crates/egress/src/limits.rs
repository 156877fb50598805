//! Every bound.

use std::time::Duration;

/// How much, and how long.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections served at once.
    pub connections: usize,
    /// Mappings.
    pub mappings: usize,
    /// Patterns in each list: excludes, includes, what the policy allows, what it denies.
    pub patterns: usize,
    /// Refusals remembered.
    pub refusals: usize,
    /// Names looked up at once.
    pub lookups: usize,
    /// Bytes of a request's head, or of an upstream's answer.
    pub head_bytes: usize,
    /// For a request's head to be complete.
    pub head_time: Duration,
    /// For a name to be resolved.
    pub lookup_time: Duration,
    /// For a connection to be made.
    pub connect_time: Duration,
    /// For an upstream to connect.
    pub handshake_time: Duration,
    /// Without a byte in either direction, after which a connection is ended.
    pub idle_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            mappings: 256,
            patterns: 1024,
            refusals: 500,
            lookups: 64,
            head_bytes: 64 << 10,
            head_time: Duration::from_mins(1),
            lookup_time: Duration::from_secs(10),
            connect_time: Duration::from_secs(20),
            handshake_time: Duration::from_secs(30),
            idle_time: Duration::from_mins(10),
        }
    }
}
