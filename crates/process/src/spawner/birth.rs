//! Making the process that becomes a command: it shares its keeper's memory until `exec`, so that nothing is copied, and
//! the keeper stands still meanwhile.
//!
//! In the unified hierarchy it is born in its control group. Moving it there afterwards would make the kernel wait for
//! all processors, which takes milliseconds.

#![expect(unsafe_code, reason = "clone has no safe interface")]

use std::os::fd::RawFd;

/// What a fresh process does; it must not return before it is done with its keeper's memory.
pub(super) type Life = extern "C" fn(*mut libc::c_void) -> libc::c_int;

const SHARED: i32 = libc::CLONE_VM | libc::CLONE_VFORK;

/// Makes a process that lives `life`; its id, or the error.
///
/// # Safety
/// This process must be single-threaded, and `data` what `life` takes it for.
pub(super) unsafe fn make(
    stack: &mut [u8],
    life: Life,
    data: *mut libc::c_void,
) -> Result<i32, i32> {
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: the child runs on a stack of its own, whose end is aligned down to 16 bytes; this process stands still
    // until the child has called exec or ended, so everything it is given stays valid.
    let pid = unsafe {
        let top = top.sub(top.addr() % 16);
        libc::clone(life, top.cast(), SHARED | libc::SIGCHLD, data)
    };
    if pid < 0 { Err(super::last_errno()) } else { Ok(pid) }
}

/// Makes a process in a group; `None` where that cannot be done, and it must enter by itself.
///
/// # Safety
/// As of [`make`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) unsafe fn make_in_group(
    group: RawFd,
    stack: &mut [u8],
    life: Life,
    data: *mut libc::c_void,
) -> Option<Result<i32, i32>> {
    /// The flag's number, which fits no 32-bit integer.
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    let unsigned = |number: i32| u64::try_from(number).unwrap_or_default();
    let usable = stack.len() - stack.as_mut_ptr_range().end.addr() % 16;
    // SAFETY: zeros mean that nothing is asked for.
    let mut request: libc::clone_args = unsafe { std::mem::zeroed() };
    request.flags = unsigned(SHARED) | INTO_CGROUP;
    request.exit_signal = unsigned(libc::SIGCHLD);
    request.stack = stack.as_mut_ptr().addr() as u64;
    request.stack_size = usable as u64;
    request.cgroup = unsigned(group);
    // SAFETY: the request is complete; the stack as in `make`, and `life` never returns to a frame of ours.
    let result = unsafe { clone3(&request, life, data) };
    match i32::try_from(-result) {
        // An old kernel, or a filter that does not know the call.
        Ok(libc::ENOSYS | libc::EINVAL | libc::EPERM | libc::EOPNOTSUPP) => None,
        Ok(errno) if errno > 0 => Some(Err(errno)),
        _ => i32::try_from(result).ok().map(Ok),
    }
}

/// No such call is known here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) unsafe fn make_in_group(
    _group: RawFd,
    _stack: &mut [u8],
    _life: Life,
    _data: *mut libc::c_void,
) -> Option<Result<i32, i32>> {
    None
}

/// The system call, of which the parent returns, and the child goes on with `life` on its own stack and ends.
#[cfg(target_arch = "x86_64")]
unsafe fn clone3(request: &libc::clone_args, life: Life, data: *mut libc::c_void) -> i64 {
    let result;
    // SAFETY: only the parent leaves this block, with the registers that the kernel preserves or that are named here.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "mov edi, eax",
            "mov eax, {exit}",
            "syscall",
            "ud2",
            "2:",
            exit = const libc::SYS_exit,
            inlateout("rax") libc::SYS_clone3 => result,
            in("rdi") std::ptr::from_ref(request),
            in("rsi") size_of::<libc::clone_args>(),
            in("r12") data,
            in("r13") life,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
unsafe fn clone3(request: &libc::clone_args, life: Life, data: *mut libc::c_void) -> i64 {
    let result;
    // SAFETY: only the parent leaves this block, with the registers that the kernel preserves or that are named here.
    unsafe {
        std::arch::asm!(
            "svc #0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x20",
            "blr x21",
            "mov x8, #{exit}",
            "svc #0",
            "brk #1",
            "2:",
            exit = const libc::SYS_exit,
            in("x8") libc::SYS_clone3,
            inlateout("x0") std::ptr::from_ref(request) => result,
            in("x1") size_of::<libc::clone_args>(),
            in("x20") data,
            in("x21") life,
        );
    }
    result
}
