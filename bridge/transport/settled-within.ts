/** How a wait ended. `waiting`: the time was over, or the wait was called off. */
export type Settled = 'done' | 'failed' | 'waiting'

/** Waits for a promise for some time, `Infinity` for as long as it takes. Never rejects, and leaves no timer behind. */
export function settledWithin(
  promise: Promise<unknown>,
  timeMs: number,
  callOff: { signal?: AbortSignal | undefined; when?: Promise<unknown> } = {},
): Promise<Settled> {
  const { signal, when } = callOff
  return new Promise((resolve) => {
    const timer = timeMs === Infinity ? undefined : setTimeout(() => end('waiting'), timeMs)
    const aborted = (): void => end('waiting')
    function end(how: Settled): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
      resolve(how)
    }
    if (signal?.aborted === true) end('waiting')
    signal?.addEventListener('abort', aborted)
    promise.then(
      () => end('done'),
      () => end('failed'),
    )
    when?.then(aborted, aborted)
  })
}
