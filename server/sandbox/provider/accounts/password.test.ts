import { expect, it } from 'vitest'
import { hashPassword, verifyPassword } from './password.ts'

const salt = new Uint8Array(16)

it.each<[cost: number | undefined, hash: RegExp]>([
  [undefined, /^scrypt\$A{22}\$[\w-]{43}$/],
  [2, /^scrypt\$A{22}\$[\w-]{43}\$2$/],
])('a hash of the cost %s is checked at that cost', async (cost, form) => {
  const hash = await hashPassword('correct horse', salt, cost)
  expect(hash).toMatch(form)
  expect(await verifyPassword('correct horse', hash)).toBe(true)
  expect(await verifyPassword('wrong horse', hash)).toBe(false)
  expect(await verifyPassword('correct horse', hash.replace(/\$2$/, '$4'))).toBe(cost === undefined)
})
