import { describe, expect, it } from 'vitest'
import { CallAbort } from './call-abort.ts'

describe('the abort of a call', () => {
  it('tells its listeners once, in their order, functions and objects alike', () => {
    const { signal, ...rest } = new CallAbort()
    const abort = new CallAbort()
    const heard: string[] = []
    abort.signal.addEventListener('abort', () => heard.push('function'))
    abort.signal.addEventListener('abort', { handleEvent: () => heard.push('object') })
    abort.abort()
    abort.abort()
    expect(heard).toEqual(['function', 'object'])
    expect([signal.aborted, rest]).toEqual([false, {}])
  })

  it('says that it happened, and why', () => {
    const abort = new CallAbort()
    expect(abort.signal.aborted).toBe(false)
    expect(() => abort.signal.throwIfAborted()).not.toThrow()
    const reason = new Error('enough')
    abort.abort(reason)
    expect(abort.signal.aborted).toBe(true)
    expect(() => abort.signal.throwIfAborted()).toThrow(reason)
  })

  it('has the reason of an AbortController when none is given', () => {
    const abort = new CallAbort()
    abort.abort()
    const native = new AbortController()
    native.abort()
    expect((abort.signal.reason as Error).name).toBe((native.signal.reason as Error).name)
  })

  it('tells nobody who has left, or who came too late', () => {
    const abort = new CallAbort()
    let calls = 0
    const listener = (): void => void (calls += 1)
    abort.signal.addEventListener('abort', listener)
    abort.signal.addEventListener('abort', listener)
    abort.signal.removeEventListener('abort', listener)
    abort.abort()
    abort.signal.addEventListener('abort', listener)
    expect(calls).toBe(0)
  })

  it('lets a listener take out itself and another', () => {
    const abort = new CallAbort()
    const heard: number[] = []
    const second = (): void => void heard.push(2)
    abort.signal.addEventListener('abort', () => abort.signal.removeEventListener('abort', second))
    abort.signal.addEventListener('abort', second)
    abort.abort()
    // As with `AbortController`, one that was taken out meanwhile hears nothing.
    expect(heard).toEqual([])
  })
})
