import type { Terminal } from './output.ts'

/** When a wait begins to speak, and how often it says more. */
export interface ProgressTimes {
  afterMs: number
  everyMs: number
}

/**
 * Waits for `work`. On a terminal, a wait of more than a second says what it waits for, in one line that is gone when it
 * ends; elsewhere it is silent. `what` is asked again for each line, so that it may count down.
 */
export async function waitFor<T>(
  terminal: Pick<Terminal, 'overwrite' | 'isInteractive'>,
  what: () => string,
  work: Promise<T>,
  { afterMs, everyMs }: ProgressTimes = { afterMs: 1000, everyMs: 1000 },
): Promise<T> {
  if (!terminal.isInteractive) return work
  let isShown = false
  const show = (): void => {
    isShown = true
    terminal.overwrite(`${what()} ...`)
  }
  let every: NodeJS.Timeout | undefined
  const first = setTimeout(() => {
    show()
    every = setInterval(show, everyMs)
  }, afterMs)
  try {
    return await work
  } finally {
    clearTimeout(first)
    clearInterval(every)
    if (isShown) terminal.overwrite('')
  }
}
