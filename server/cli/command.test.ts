import { describe, expect, it } from 'vitest'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { OperatorRefusal } from '../core/operator/operation.ts'
import { exitCode, failureJson, failureText } from './command.ts'

describe('a failed command', () => {
  it('a failed command prints what failed, why, and last the next step', () => {
    const failure = new OperatorRefusal(409, 'The key is needed.', 'drawbridge-server keys rotate')
    expect(failureText('keys remove', failure)).toEqual({
      text: 'drawbridge-server keys remove failed.\n  - The key is needed.\ndrawbridge-server keys rotate',
      code: exitCode.failed,
    })
    expect(JSON.parse(failureJson(failure))).toEqual({
      ok: false,
      errors: ['The key is needed.'],
      next_step: 'drawbridge-server keys rotate',
    })
  })

  it('a usage error exits with 2, another refusal with 1', () => {
    expect(failureText('keys list', new OperatorRefusal(400, 'a', 'b')).code).toBe(2)
    for (const status of [404, 409] as const)
      expect(failureText('keys list', new OperatorRefusal(status, 'a', 'b')).code).toBe(1)
    expect(failureText('keys list', new ConfigError(['a', 'b'])).code).toBe(2)
  })

  it('a wrong configuration prints every fault', () => {
    const { text } = failureText('serve', new ConfigError(['LISTEN: bad.', 'STORE: bad.']))
    expect(text).toMatch(
      /^drawbridge-server did not start\.\n {2}- LISTEN: bad\.\n {2}- STORE: bad\.\nEvery setting: /,
    )
  })

  it.each([
    ['EADDRINUSE', /take other ports.*--listen \d+ --base-url \S+ --app-url \S+$/],
    ['EACCES', /--store sqlite:PATH/],
    ['EROFS', /--store sqlite:PATH/],
    ['EOTHER', /doctor/],
  ])('a failure with %s prints its own next step', (code, nextStep) => {
    const { text } = failureText('serve', Object.assign(new Error('What happened'), { code }))
    expect(text.split('\n').at(-1)).toMatch(nextStep)
    expect(text).not.toMatch(/^ +at /m)
  })
})
