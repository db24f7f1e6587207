import { describe, expect, it } from 'vitest'
import { staged } from '../support/bridge/process/stage.ts'
import { oddRemote, signInAndCall } from './odd-server.ts'

describe.concurrent('a sign-in', () => {
  it('a sign-in succeeds at a server behind a front that changes nothing', () =>
    staged(async (stage) => {
      const remote = await oddRemote(stage, {}, { auth: true })
      expect(await signInAndCall(stage, remote.url)).toBe('signed in')
    })())
})
