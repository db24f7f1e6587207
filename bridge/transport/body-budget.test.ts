import { describe, expect, it } from 'vitest'
import { BodyBudget, type HeldBody } from './body-budget.ts'

describe('BodyBudget', () => {
  const body = (): HeldBody => ({ heldBytes: 0 })
  const grown = async (room: Promise<void> | undefined, then: () => void): Promise<void> => {
    await room
    then()
  }
  const megabyte = 1024 * 1024
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }

  it('one large response may grow beyond 16 MB, and so may small ones', async () => {
    const budget = new BodyBudget()
    const [first, second, third, small] = [body(), body(), body(), body()]
    const done: string[] = []
    await budget.add(first, 16 * megabyte)
    const later = [
      grown(budget.add(second, megabyte), () => done.push('second')),
      grown(budget.add(third, 65_537), () => done.push('third')),
    ]
    await budget.add(small, 65_536)
    await budget.add(first, megabyte)
    await turns()
    expect(done).toEqual([])
    budget.release(first)
    await Promise.all(later)
    expect(done).toEqual(['second', 'third'])
  })

  it('the next large response grows once the first was delivered; the others wait', async () => {
    const budget = new BodyBudget()
    const [first, second, third] = [body(), body(), body()]
    const done: string[] = []
    await budget.add(first, megabyte)
    await budget.add(second, 15 * megabyte)
    const waiting = [second, third].map((each, index) =>
      grown(budget.add(each, 2 * megabyte), () => done.push(index === 0 ? 'second' : 'third')),
    )
    await turns()
    expect(done).toEqual([])
    budget.release(first)
    await turns()
    expect(done).toEqual(['second'])
    budget.release(second)
    await Promise.all(waiting)
  })

  it('a response whose request has ended no longer counts, and is released once', async () => {
    const budget = new BodyBudget()
    const [first, gone, next] = [body(), body(), body()]
    await budget.add(first, 17 * megabyte)
    const waiting = budget.add(gone, 2 * megabyte)
    budget.release(gone)
    await waiting
    budget.release(gone)
    expect(budget.add(next, 65_537)).toBeInstanceOf(Promise)
    budget.release(first)
    expect(budget.add(gone, 15 * megabyte)).toBeUndefined()
  })
})
