import { describe, expect, it } from 'vitest'
import { createSignal, pause, settledWithin, unlessAborted, within } from './async.ts'

const never = new Promise<never>(() => {})

describe('settledWithin', () => {
  it('tells how it ended, and never rejects', async () => {
    expect(await settledWithin(Promise.resolve(1), 1000)).toBe('done')
    expect(await settledWithin(Promise.reject(new Error('x')), Infinity)).toBe('failed')
    expect(await settledWithin(never, 1)).toBe('waiting')
  })

  it('ends when it is called off, by a signal or by another promise', async () => {
    const abort = new AbortController()
    const waits = [
      settledWithin(never, Infinity, { signal: AbortSignal.abort() }),
      settledWithin(never, Infinity, { signal: abort.signal }),
      settledWithin(never, Infinity, { when: Promise.reject(new Error('x')) }),
    ]
    abort.abort()
    expect(await Promise.all(waits)).toEqual(['waiting', 'waiting', 'waiting'])
  })
})

it('within gives what comes in time, and fails with it', async () => {
  expect(await within(1000, Promise.resolve(7))).toBe(7)
  expect(await within(1, never)).toBeUndefined()
  await expect(within(1000, Promise.reject(new Error('x')))).rejects.toThrow('x')
})

describe('unlessAborted', () => {
  it('gives what the work gives', async () => {
    expect(await unlessAborted(Promise.resolve(7), undefined)).toBe(7)
    expect(await unlessAborted(Promise.resolve(7), new AbortController().signal)).toBe(7)
  })

  it('rejects with the reason, of the signal or another one', async () => {
    const abort = new AbortController()
    const work = unlessAborted(never, abort.signal)
    abort.abort(new Error('over'))
    await expect(work).rejects.toThrow('over')
    await expect(unlessAborted(never, abort.signal, () => new Error('mine'))).rejects.toThrow('mine')
  })
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
