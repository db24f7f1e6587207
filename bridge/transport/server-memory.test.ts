import { expect, it } from 'vitest'
import { RememberedServer, type ServerMemory } from './server-memory.ts'

function create(before?: ServerMemory): {
  remembered: RememberedServer
  written: ServerMemory[]
  at(now: number): void
} {
  const written: ServerMemory[] = []
  let now = 1000
  const remembered = new RememberedServer({
    memory: { read: () => before, write: (memory) => void written.push(memory) },
    runtime: { now: () => now },
  })
  return { remembered, written, at: (then) => (now = then) }
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

it('writes at the end what still waits to be written, and nothing twice', async () => {
  const { remembered, written } = create()
  remembered.learn({ era: 'modern', transport: 'http' })
  remembered.flush()
  expect(written).toHaveLength(1)
  await turn()
  remembered.flush()
  expect(written).toHaveLength(1)
})

it('writes once what was learnt in one go, and only when it is complete', async () => {
  const { remembered, written } = create()
  remembered.learn({ tools: [{ name: 'a' }] })
  await turn()
  expect(written).toEqual([])
  expect(remembered.known()).toBeUndefined()
  remembered.learn({ era: 'legacy', transport: 'http' })
  remembered.learn({ initializeResult: { a: 1 } })
  await turn()
  expect(written).toEqual([
    { era: 'legacy', transport: 'http', at: 1000, initializeResult: { a: 1 }, tools: [{ name: 'a' }] },
  ])
})

it('does not write what is known, except for its date after an hour', async () => {
  const before: ServerMemory = { era: 'modern', transport: 'http', at: 900, tools: [] }
  const { remembered, written, at } = create(before)
  remembered.learn({ era: 'modern', tools: [] })
  await turn()
  expect(written).toEqual([])
  at(10_000)
  remembered.learn({ era: 'modern', tools: [] })
  await turn()
  expect(written).toEqual([{ ...before, at: 10_000 }])
})

it('forgets that an era is lacking when it is seen', async () => {
  const { remembered } = create({ era: 'legacy', transport: 'http', at: 1, lacks: { era: 'modern', at: 1 } })
  remembered.learn({ era: 'modern' })
  expect(remembered.known()).toEqual({ era: 'modern', transport: 'http', at: 1000 })
})
