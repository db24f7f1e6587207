import { createSignal } from '@drawbridge/shared/async.ts'
import { expect, it } from 'vitest'
import { durationText, waitFor } from './progress.ts'

function fakeTerminal(isInteractive: boolean): {
  shown: string[]
  overwrite(text: string): void
  isInteractive: boolean
} {
  const shown: string[] = []
  return { shown, overwrite: (text) => void shown.push(text), isInteractive }
}

it('waitFor prints nothing during a short wait', async () => {
  const terminal = fakeTerminal(true)
  expect(await waitFor(terminal, () => 'waiting', Promise.resolve(7), { afterMs: 1000, everyMs: 1000 })).toBe(
    7,
  )
  expect(terminal.shown).toEqual([])
})

it('waitFor updates a line during a long wait, and removes it', async () => {
  const terminal = fakeTerminal(true)
  const work = createSignal<string>()
  let asked = 0
  const what = (): string => {
    asked += 1
    if (asked === 3) work.give('done')
    return `step ${asked}`
  }
  expect(await waitFor(terminal, what, work.given, { afterMs: 1, everyMs: 1 })).toBe('done')
  expect(terminal.shown.slice(0, 3)).toEqual(['step 1 ...', 'step 2 ...', 'step 3 ...'])
  expect(terminal.shown.at(-1)).toBe('')
})

it('waitFor removes the line if the work fails', async () => {
  const terminal = fakeTerminal(true)
  const { given, give } = createSignal()
  const work = given.then(() => Promise.reject(new Error('no')))
  const wait = waitFor(terminal, () => (give(), 'x'), work, { afterMs: 1, everyMs: 1000 })
  await expect(wait).rejects.toThrow('no')
  expect(terminal.shown).toEqual(['x ...', ''])
})

it('waitFor prints nothing without a terminal', async () => {
  const terminal = fakeTerminal(false)
  const work = createSignal()
  setTimeout(() => work.give(), 20)
  await waitFor(terminal, () => 'x', work.given, { afterMs: 1, everyMs: 1 })
  expect(terminal.shown).toEqual([])
})

it.each([
  [-5, '0 s'],
  [0, '0 s'],
  [59, '59 s'],
  [60, '1 min'],
  [61, '1 min 1 s'],
  [3599, '59 min 59 s'],
  [3600, '1 h'],
  [3605, '1 h'],
  [3660, '1 h 1 min'],
  [90_061, '1 d 1 h'],
  [86_400 * 30, '30 d'],
  [86_400 + 59, '1 d'],
])('durationText formats %d seconds as %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text)
})
