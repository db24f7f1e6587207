/** What `work` resolves with, or undefined when that takes longer; rejects with it. Leaves no timer behind. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}

/** Ends the wait of one caller with the reason of its signal; the work goes on for the others. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work
  let leave: (() => void) | undefined
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason as Error)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
  })
  try {
    return await Promise.race([left, work])
  } finally {
    if (leave !== undefined) signal.removeEventListener('abort', leave)
  }
}
