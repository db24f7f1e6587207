import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type BodyShare, createBodyBudget } from './body-budget.ts'

const chunk = Buffer.alloc(100_000)

interface Body {
  stream: PassThrough
  share: BodyShare
  /** How many chunks were read. */
  read(): number
}

function bodies(mostBytes: number, count: number): Body[] {
  const budget = createBodyBudget(mostBytes)
  return Array.from({ length: count }, () => {
    const stream = new PassThrough({ highWaterMark: 16 * 1024 * 1024 })
    const share = budget.follow({ body: stream }, -1)
    let read = 0
    stream.on('data', () => (read += 1))
    return { stream, share, read: () => read }
  })
}

async function send(body: Body | undefined, chunks: number): Promise<void> {
  for (let n = 0; n < chunks; n += 1) body?.stream.write(chunk)
  await turn()
  await turn()
}

describe('the budget', () => {
  it('lets all bodies flow as long as there is little of them', async () => {
    const all = bodies(1_000_000, 3)
    for (const body of all) await send(body, 3)
    expect(all.map(({ read }) => read())).toEqual([3, 3, 3])
  })

  it('lets only the first large one flow beyond that, and the next when that one was taken', async () => {
    const [one, two, three] = bodies(250_000, 3)
    await send(one, 2)
    await send(two, 5)
    await send(three, 5)
    expect([two?.read(), three?.read()]).toEqual([1, 1])
    await send(one, 20)
    expect(one?.read()).toBe(22)
    one?.share.release()
    await turn()
    // There was room for a moment.
    expect([two?.read(), three?.read()]).toEqual([5, 2])
    two?.share.release()
    await turn()
    expect(three?.read()).toBe(5)
  })

  it('counts anew what comes after a release', async () => {
    const [one, two] = bodies(250_000, 2)
    await send(one, 3)
    one?.share.release()
    await send(two, 2)
    expect(two?.read()).toBe(2)
    await send(one, 3)
    expect(one?.read()).toBe(4)
    two?.share.release()
    await turn()
    expect(one?.read()).toBe(6)
  })

  it('never holds back a short answer, nor does a silent one hold back others', async () => {
    const budget = createBodyBudget(0)
    const read: number[] = []
    for (let n = 0; n < 5; n += 1) {
      const stream = new PassThrough()
      budget.follow({ body: stream }, n - 1)
      stream.on('data', () => read.push(n))
      stream.write('short')
    }
    await turn()
    expect(read).toEqual([0, 1, 2, 3, 4])
  })

  it('does not count what is announced to be short', async () => {
    const budget = createBodyBudget(0)
    const stream = new PassThrough()
    budget.follow({ body: stream }, 1000)
    expect(stream.listenerCount('data')).toBe(0)
  })

  it('may be told of the end of a body twice', async () => {
    const [one, two] = bodies(150_000, 2)
    await send(one, 3)
    one?.share.release()
    one?.share.release()
    await send(two, 3)
    expect(two?.read()).toBe(3)
  })
})
