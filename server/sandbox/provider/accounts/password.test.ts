import { describe, expect, it } from 'vitest'
import { AuthError } from '../auth-error.ts'
import { hashPassword, validatePassword, verifyPassword } from './password.ts'

describe('a password hash', () => {
  it('verifies its password only, and never holds it', async () => {
    const hash = await hashPassword('correct horse', Buffer.alloc(16, 1))
    expect(hash).toMatch(/^scrypt\$[\w-]{22}\$[\w-]{43}$/)
    expect(await verifyPassword('correct horse', hash)).toBe(true)
    expect(await verifyPassword('correct horsf', hash)).toBe(false)
    expect(await verifyPassword('', hash)).toBe(false)
  })

  it('differs with the salt', async () => {
    const one = await hashPassword('correct horse', Buffer.alloc(16, 1))
    expect(await hashPassword('correct horse', Buffer.alloc(16, 2))).not.toBe(one)
  })

  it('takes composed and decomposed letters for the same', async () => {
    const hash = await hashPassword('caf\u00e9 noir', Buffer.alloc(16, 1))
    expect(await verifyPassword('cafe\u0301 noir', hash)).toBe(true)
  })

  it.each([undefined, '', 'scrypt$$', 'plain'])('%j verifies nothing', async (hash) => {
    expect(await verifyPassword('', hash)).toBe(false)
    expect(await verifyPassword('plain', hash)).toBe(false)
  })

  it('costs about the same work for an account that does not exist', async () => {
    const hash = await hashPassword('correct horse', Buffer.alloc(16, 1))
    const time = async (stored: string | undefined): Promise<number> => {
      const start = process.cpuUsage()
      for (let round = 0; round < 5; round++) await verifyPassword('correct horse', stored)
      return process.cpuUsage(start).user
    }
    const known = await time(hash)
    expect(await time(undefined)).toBeGreaterThan(known / 3)
  })
})

describe('a password', () => {
  it.each([
    { password: '12345', code: 'weak_password', status: 422 },
    { password: 'é'.repeat(37), code: 'validation_failed', status: 400 },
  ])('$password is refused with $code', ({ password, code, status }) => {
    try {
      validatePassword(password)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(AuthError)
      expect(error).toMatchObject({ code, status })
    }
  })

  it.each(['123456', 'x'.repeat(72)])('%s is accepted', (password) => {
    expect(() => validatePassword(password)).not.toThrow()
  })
})
