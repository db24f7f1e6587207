import { expect, it } from 'vitest'
import { createSignal, pause, settledWithin, unlessAborted, within } from './async.ts'

const never = new Promise<never>(() => {})

it('settledWithin tells how a promise ended, and never rejects', async () => {
  expect(await settledWithin(Promise.resolve(1), 1000)).toBe('done')
  expect(await settledWithin(Promise.reject(new Error('x')), Infinity)).toBe('failed')
  expect(await settledWithin(never, 1)).toBe('waiting')
})

it('settledWithin ends early by a signal or another promise', async () => {
  const abort = new AbortController()
  const waits = [
    settledWithin(never, Infinity, { signal: AbortSignal.abort() }),
    settledWithin(never, Infinity, { signal: abort.signal }),
    settledWithin(never, Infinity, { when: Promise.reject(new Error('x')) }),
  ]
  abort.abort()
  expect(await Promise.all(waits)).toEqual(['waiting', 'waiting', 'waiting'])
})

it('within resolves or rejects with work that ends in time', async () => {
  expect(await within(1000, Promise.resolve(7))).toBe(7)
  expect(await within(1, never)).toBeUndefined()
  await expect(within(1000, Promise.reject(new Error('x')))).rejects.toThrow('x')
})

it('unlessAborted returns the result of the work', async () => {
  expect(await unlessAborted(Promise.resolve(7), undefined)).toBe(7)
  expect(await unlessAborted(Promise.resolve(7), new AbortController().signal)).toBe(7)
})

it('unlessAborted rejects with the reason of the signal, or a given one', async () => {
  const abort = new AbortController()
  const work = unlessAborted(never, abort.signal)
  abort.abort(new Error('over'))
  await expect(work).rejects.toThrow('over')
  await expect(unlessAborted(never, abort.signal, () => new Error('mine'))).rejects.toThrow('mine')
})

it('a pause ends with its signal', async () => {
  const abort = new AbortController()
  const { given, give } = createSignal()
  const paused = pause({ sleep: () => given }, 1000, abort.signal)
  abort.abort()
  await paused
  give()
  await pause({ sleep: () => given }, 1000, undefined)
})
