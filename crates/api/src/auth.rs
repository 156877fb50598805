//! Credentials: tickets for addresses, and the question whether a credential is good.

use std::collections::BTreeMap;

use atoll_operation::{Declaration, Operation, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations of this group.
pub const OPERATIONS: &[Declaration] =
    &[Declaration::of::<CreateTicket>(), Declaration::of::<Authenticate>()];

/// Make a ticket: a short-lived text that stands for the caller in addresses, as `?ticket=`.
///
/// It is good for any page, file or WebSocket the caller may reach, as often as wanted, until it ends.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CreateTicket {}

/// A ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ticket {
    /// The ticket, told this once.
    pub ticket: String,
    /// Seconds it is good for.
    pub expires_in: u64,
}

impl Operation for CreateTicket {
    type Output = Ticket;
    const SPEC: Spec = Spec::post("auth_create_ticket", "/tickets", "auth:write")
        .sdk("auth", "create_ticket")
        .errors(&["auth.no_renewal", "auth.tickets_exhausted"]);
}

/// Say whether a request carries a good credential, for a proxy that asks before it passes the request on.
///
/// The credential is the one of this request, or the ticket or key in the address that `X-Original-URI` holds.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Authenticate {}

impl Operation for Authenticate {
    type Output = BTreeMap<String, String>;
    const SPEC: Spec =
        Spec::get("auth_authenticate", "/auth", "auth:read").sdk("auth", "authenticate").quiet();
}
