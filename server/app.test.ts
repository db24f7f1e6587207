import { afterEach, describe, expect, it } from 'vitest'
import {
  account,
  type DrawbridgeFixture,
  redirectUri,
  startDrawbridge,
} from './testing/drawbridge-fixture.ts'

let drawbridge: DrawbridgeFixture
afterEach(() => drawbridge.close())

describe('the whole way, in one process', () => {
  it('registers, signs in with the password, redeems the code and calls tools as the user', async () => {
    drawbridge = await startDrawbridge()
    const { client_id: clientId } = await drawbridge.register()
    const { url } = await drawbridge.signIn(clientId)
    expect(url.href.startsWith(`${redirectUri}?`)).toBe(true)
    expect(url.searchParams.get('state')).toBe('state-1')
    expect(url.searchParams.get('iss')).toBe('http://localhost:8787')
    const answer = await drawbridge.redeem(clientId, url.searchParams.get('code') ?? '')
    expect(answer.status).toBe(200)
    const tokens = (await answer.json()) as { access_token: string }
    expect(await drawbridge.callTool(tokens.access_token, 'whoami')).toEqual({
      text: `You are ${account.email}.`,
      isError: false,
    })
    const added = await drawbridge.callTool(tokens.access_token, 'add_note', { text: 'from a tool' })
    expect(added.text).toMatch(/^Added note /)
    expect((await drawbridge.callTool(tokens.access_token, 'list_notes')).text).toContain('from a tool')
  })
})
