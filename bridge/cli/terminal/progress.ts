import { createInterface } from 'node:readline'
import type { Terminal } from './output.ts'

/** Waits for `work`. On a terminal, after a second, a line shows `what` and is updated every second. */
export async function waitFor<T>(
  terminal: Pick<Terminal, 'overwrite' | 'isInteractive'>,
  what: () => string,
  work: Promise<T>,
  { afterMs, everyMs } = { afterMs: 1000, everyMs: 1000 },
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

const units: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** Formats seconds in their largest unit and the one below it: `59 min`, `1 h 5 min`, `0 s`. */
export function durationText(seconds: number): string {
  let left = Math.max(0, Math.round(seconds))
  const parts = units.map(([size, name]) => {
    const count = Math.floor(left / size)
    left %= size
    return count > 0 ? `${count} ${name}` : ''
  })
  const first = parts.findIndex((part) => part !== '')
  return first === -1
    ? '0 s'
    : parts
        .slice(first, first + 2)
        .join(' ')
        .trim()
}

/** Asks the user on a terminal. An empty line means `otherwise`; any answer but yes, and the end of the input, no. */
export async function confirmed(
  question: string,
  otherwise: boolean,
  { input, overwrite }: Pick<Terminal, 'input' | 'overwrite'>,
): Promise<boolean> {
  overwrite(`${question} ${otherwise ? '[Y/n]' : '[y/N]'} `)
  const lines = createInterface({ input })
  const answer = await new Promise<string | undefined>((resolve) => {
    lines.once('line', resolve)
    lines.once('close', () => resolve(undefined))
  })
  lines.close()
  if (answer?.trim() === '') return otherwise
  return /^y(?:es)?$/i.test(answer?.trim() ?? '')
}
