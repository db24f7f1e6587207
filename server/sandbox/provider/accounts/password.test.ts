import { expect, it } from 'vitest'
import { hashPassword, verifyPassword } from './password.ts'

const salt = new Uint8Array(16)

it.each([
  [undefined, 16_384],
  [2, 2],
])('a hash of the cost %s is checked at that cost', async (cost, written) => {
  const hash = await hashPassword('correct horse', salt, cost)
  expect(hash).toMatch(/^scrypt\$\d+\$A{22}\$[\w-]{43}$/)
  expect(await verifyPassword('correct horse', hash)).toBe(true)
  expect(await verifyPassword('wrong horse', hash)).toBe(false)
  expect(await verifyPassword('correct horse', hash.replace(`$${written}$`, '$4$'))).toBe(false)
})
