/**
 * The only source of time, randomness and network. Each program creates one at its start; tests pass a fake with a fixed
 * clock, so that no test sleeps and no decision depends on the machine.
 */
export interface Runtime {
  /** The current time in epoch seconds, an integer: the unit of `exp`, `iat` and `expires_at` on the wire. */
  now(): number
  /** That many bytes from a cryptographic generator. All secrets and ids are made from these. */
  randomBytes(length: number): Uint8Array
  /** Resolves after that many milliseconds. */
  sleep(ms: number): Promise<void>
  /**
   * Sends one request. Rejects when no response arrives; an error status is a response, not a rejection.
   *
   * `options.signal` ends the call, and the body of its response too. A time-out belongs there and never into the
   * request: a `Request` is tied to the signal it was made with by a weak link only, which Node drops at the next
   * garbage collection, and then nothing ends the call any more.
   */
  fetch(request: Request, options?: { signal?: AbortSignal }): Promise<Response>
}
