import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { BodyBudget } from './body-budget.ts'

async function isHeldBack(room: Promise<void>): Promise<boolean> {
  let isHeld = true
  void room.then(() => (isHeld = false))
  await turn()
  return isHeld
}

describe('the budget', () => {
  it('lets all bodies flow as long as there is little of them', async () => {
    const budget = new BodyBudget(1_000_000)
    for (const share of [budget.share(), budget.share(), budget.share()])
      expect(await isHeldBack(share.add(300_000))).toBe(false)
  })

  it('lets only the first large one flow beyond that, and the next when that one was taken', async () => {
    const budget = new BodyBudget(250_000)
    const [one, two, three] = [budget.share(), budget.share(), budget.share()]
    await one.add(200_000)
    const rest = [two.add(100_000), three.add(200_000)]
    expect(await Promise.all(rest.map(isHeldBack))).toEqual([true, true])
    expect(await isHeldBack(one.add(2_000_000))).toBe(false)
    one.release()
    expect(await Promise.all(rest.map(isHeldBack))).toEqual([false, true])
    two.release()
    expect(await isHeldBack(rest[1] as Promise<void>)).toBe(false)
  })

  it('counts anew what comes after a release', async () => {
    const budget = new BodyBudget(250_000)
    const [one, two] = [budget.share(), budget.share()]
    await one.add(300_000)
    one.release()
    expect(await isHeldBack(two.add(200_000))).toBe(false)
    expect(await isHeldBack(one.add(100_000))).toBe(true)
  })

  it('never holds back a short answer, nor does a short one hold back others', async () => {
    const budget = new BodyBudget(0)
    const [short, large] = [budget.share(), budget.share()]
    expect(await isHeldBack(short.add(60_000))).toBe(false)
    expect(await isHeldBack(large.add(1_000_000))).toBe(false)
    expect(await isHeldBack(short.add(1000))).toBe(false)
  })
})
