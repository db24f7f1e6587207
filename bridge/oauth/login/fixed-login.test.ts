import { expect, it } from 'vitest'
import { createFixedLogin } from './fixed-login.ts'

it('a fixed login has its token, and does not sign in', async () => {
  const login = createFixedLogin('token', 'header')
  expect(await login.authorization()).toEqual({ header: 'Bearer token' })
  const refusal = { status: 401 as const, used: undefined, challenges: [] }
  expect(await login.refused(refusal)).toEqual({ kind: 'sign_in_needed' })
  const pending = login.signIn()
  pending.cancel()
  await expect(pending.done).rejects.toMatchObject({ fault: 'sign_in_needed' })
  await expect(pending.prompt).rejects.toMatchObject({ fault: 'sign_in_needed' })
  expect(await login.signOut()).toEqual({ found: false, readable: true, revoked: undefined })
  expect(await login.state()).toEqual({ kind: 'configured', how: 'header' })
  expect(await createFixedLogin('token').state()).toEqual({ kind: 'configured', how: 'environment' })
  await login.settle()
})
