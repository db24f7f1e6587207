// The only timers in shared. Every wait here clears its timer and listener.

/** Outcome of a wait. `waiting`: the time was up, or the wait was cancelled. */
export type Settled = 'done' | 'failed' | 'waiting'

/** Waits for a promise for a limited time, or with `Infinity` without a limit. Never rejects. */
export function settledWithin(
  promise: Promise<unknown>,
  timeMs: number,
  callOff: { signal?: AbortSignal | undefined; when?: Promise<unknown> } = {},
): Promise<Settled> {
  const { signal, when } = callOff
  return new Promise((resolve) => {
    const timer = timeMs === Infinity ? undefined : setTimeout(() => end('waiting'), timeMs)
    const calledOff = (): void => end('waiting')
    function end(how: Settled): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', calledOff)
      resolve(how)
    }
    if (signal?.aborted === true) end('waiting')
    signal?.addEventListener('abort', calledOff)
    promise.then(
      () => end('done'),
      () => end('failed'),
    )
    when?.then(calledOff, calledOff)
  })
}

/** Resolves with the result of `work`, or with undefined if that takes longer. Rejects if it does. */
export async function within<Value>(timeMs: number, work: Promise<Value>): Promise<Value | undefined> {
  return (await settledWithin(work, timeMs)) === 'waiting' ? undefined : await work
}

/** Settles like `work`, or rejects with `reason` once the signal is aborted. The work continues for others. */
export function unlessAborted<Value>(
  work: Promise<Value>,
  signal: AbortSignal | undefined,
  reason: () => unknown = () => signal?.reason,
): Promise<Value> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(reason())
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.finally(() => signal.removeEventListener('abort', stop)).then(resolve, reject)
  })
}

/** Sleeps by the clock of the runtime, or until the signal is aborted. */
export async function pause(
  runtime: { sleep(ms: number): Promise<void> },
  timeMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  await settledWithin(runtime.sleep(timeMs), Infinity, { signal })
}

/** A promise, and the function that resolves it. */
export interface Signal<Value = void> {
  given: Promise<Value>
  give(value: Value): void
}

/** Returns a promise with the function that resolves it. */
export function createSignal<Value = void>(): Signal<Value> {
  let give: (value: Value) => void = () => {}
  const given = new Promise<Value>((resolve) => {
    give = resolve
  })
  return { given, give: (value) => give(value) }
}
