/**
 * The only source of time, randomness and network. Each program creates one at start; tests pass a fake with a fixed
 * clock, so that no test sleeps and no decision depends on the machine.
 */
export interface Runtime {
  /** Returns the current time in whole epoch seconds: the unit of `exp`, `iat` and `expires_at` on the wire. */
  now(): number
  /** Returns bytes from a cryptographic generator, the source of all secrets and ids. */
  randomBytes(length: number): Uint8Array
  /** Resolves after `ms` milliseconds. */
  sleep(ms: number): Promise<void>
  /**
   * Sends one request. Rejects when no response arrives; an error status is a response, not a rejection.
   *
   * `options.signal` ends the call, including the body of its response. Pass a timeout there, never in the request: a
   * `Request` holds its signal only weakly, and after Node's next garbage collection nothing would end the call.
   */
  fetch(request: Request, options?: { signal?: AbortSignal }): Promise<Response>
}
