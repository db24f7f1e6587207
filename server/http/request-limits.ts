/** All headers of one request: a session cookie may be 128 KiB, and Node's default refuses it at six chunks. */
export const maxHeaderBytes: number = 144 * 1024

/** Header lines of one request. A browser behind two proxies sends forty. */
export const maxHeaders = 200

/** RFC 9110 section 4.1 asks for at least 8000; an authorization request carries its state in the URL. */
export const maxTargetLength: number = 16 * 1024

/** Enough for any form or registration that a client sends. */
export const maxFormBytes: number = 64 * 1024
