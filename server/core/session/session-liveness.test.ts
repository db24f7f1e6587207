import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { race, start } from '../../../tests/support/server/core/grant-sample.ts'
import { Liveness, type LivenessPorts } from './session-liveness.ts'
import { ProviderError, type SessionLife } from './session-provider.ts'

const checkSeconds = 100

let runtime: FakeRuntime
let asked: string[]
let failures: unknown[]
let answer: () => SessionLife | Promise<SessionLife>
let liveness: Liveness

beforeEach(() => {
  runtime = createFakeRuntime(start)
  asked = []
  failures = []
  answer = () => 'live'
  liveness = create()
})

function create(overrides: Partial<LivenessPorts> = {}): Liveness {
  return new Liveness({
    provider: {
      async probe({ accessToken: token }) {
        asked.push(token)
        return { life: await answer() }
      },
    },
    runtime,
    checkSeconds,
    reportFailure: (error) => void failures.push(error),
    ...overrides,
  })
}

const outage = (): never => {
  throw new ProviderError('transient', 'No answer.')
}

describe('a session that is known to be live', () => {
  it.each([
    ['just proven', 0, 'live'],
    ['not long ago', 89, 'live'],
    ['long ago', 100, undefined],
  ])('a session %s', (_when, seconds, life) => {
    expect(liveness.lifeOf('key', start - seconds)).toBe(life)
  })

  it('a session that was never proven is probed', () => {
    expect(liveness.lifeOf('key', -Infinity)).toBeUndefined()
  })

  it.each(['live', 'token_refused', 'ended'] as const)(
    'an answer of %s counts for as long as it is trusted',
    async (life) => {
      answer = () => life
      expect(await liveness.probe('key', { accessToken: 'token' })).toBe(life)
      runtime.advance(89)
      expect(liveness.lifeOf('key', -Infinity)).toBe(life)
      expect(liveness.lifeOf('another key', -Infinity)).toBeUndefined()
      runtime.advance(11)
      expect(liveness.lifeOf('key', -Infinity)).toBeUndefined()
      expect(asked).toEqual(['token'])
    },
  )

  it('a later proof counts for as long as an answer', async () => {
    await liveness.probe('key', { accessToken: 'token' })
    runtime.advance(100)
    expect(liveness.lifeOf('key', start + 50)).toBe('live')
    expect(liveness.lifeOf('key', start - 50)).toBeUndefined()
  })

  it.each([
    ['nobody wants to know', { checkSeconds: undefined }],
    ['nobody can tell', { provider: {} }],
  ])('every session is taken for live when %s', (_when, overrides) => {
    expect(create(overrides).lifeOf('key', -Infinity)).toBe('live')
  })

  it('the number of remembered answers is limited', async () => {
    for (let key = 0; key <= 10_000; key += 1) await liveness.probe(`key ${key}`, { accessToken: 'token' })
    expect(liveness.lifeOf('key 0', -Infinity)).toBeUndefined()
    expect(liveness.lifeOf('key 1', -Infinity)).toBe('live')
    expect(liveness.lifeOf('key 10000', -Infinity)).toBe('live')
  })
})

describe('asking', () => {
  it('a key is asked about once for fifty callers, separately from another', async () => {
    answer = async (): Promise<SessionLife> => {
      await runtime.sleep(10)
      return 'ended'
    }
    const lives = await race((index) =>
      liveness.probe(`key ${index % 2}`, { accessToken: `token ${index % 2}` }),
    )
    expect(lives).toEqual(Array.from({ length: 50 }, () => 'ended'))
    expect(asked).toEqual(['token 0', 'token 1'])
  })

  it('a fault in the program is not an answer, and the next one asks again', async () => {
    answer = () => {
      throw new RangeError('a bug')
    }
    await expect(liveness.probe('key', { accessToken: 'token' })).rejects.toThrow(RangeError)
    answer = () => 'live'
    expect(await liveness.probe('key', { accessToken: 'token' })).toBe('live')
  })
})

describe('an unreadable answer', () => {
  const unclear = (): never => {
    throw new ProviderError('protocol', 'A 431.')
  }

  beforeEach(() => {
    answer = unclear
  })

  it('an unreadable answer is about one key, which counts as live for as long as after any answer, and others are asked about', async () => {
    expect(await liveness.probe('key', { accessToken: 'token' })).toBe('live')
    expect(liveness.lifeOf('another key', -Infinity)).toBeUndefined()
    runtime.advance(89)
    expect(liveness.lifeOf('key', -Infinity)).toBe('live')
    runtime.advance(11)
    expect(liveness.lifeOf('key', -Infinity)).toBeUndefined()
  })

  it('an unreadable answer counts for at least thirty seconds, however short answers are trusted', async () => {
    const short = create({ checkSeconds: 1 })
    await short.probe('key', { accessToken: 'token' })
    runtime.advance(29)
    expect(short.lifeOf('key', -Infinity)).toBe('live')
    runtime.advance(1)
    expect(short.lifeOf('key', -Infinity)).toBeUndefined()
  })

  it.each(['token_refused', 'ended'] as const)(
    'an unreadable answer does not change the earlier answer: %s',
    async (life) => {
      answer = () => life
      await liveness.probe('key', { accessToken: 'token' })
      answer = unclear
      expect(await liveness.probe('key', { accessToken: 'token' })).toBe(life)
    },
  )

  it('an unreadable answer ends a pause', async () => {
    answer = outage
    await liveness.probe('key', { accessToken: 'token' })
    runtime.advance(30)
    answer = unclear
    await liveness.probe('key', { accessToken: 'token' })
    expect(liveness.lifeOf('another key', -Infinity)).toBeUndefined()
  })

  it('an unreadable answer is reported once in thirty seconds', async () => {
    await race((index) => liveness.probe(`key ${index}`, { accessToken: 'token' }))
    expect(failures).toEqual([expect.objectContaining({ failure: 'protocol' })])
    runtime.advance(30)
    await liveness.probe('key', { accessToken: 'token' })
    expect(failures).toHaveLength(2)
  })
})

describe('a provider that gives no clear answer', () => {
  beforeEach(() => {
    answer = outage
  })

  it.each(['token_refused', 'ended'] as const)(
    'an outage of the provider does not change the last answer: %s',
    async (life) => {
      answer = () => life
      await liveness.probe('key', { accessToken: 'token' })
      runtime.advance(checkSeconds)
      answer = outage
      expect(await liveness.probe('key', { accessToken: 'token' })).toBe(life)
      expect(liveness.lifeOf('key', -Infinity)).toBe(life)
    },
  )

  it('an outage of the provider is followed by thirty seconds without questions', async () => {
    await liveness.probe('key', { accessToken: 'token' })
    runtime.advance(29)
    expect(liveness.lifeOf('another key', -Infinity)).toBe('live')
    runtime.advance(1)
    expect(liveness.lifeOf('another key', -Infinity)).toBeUndefined()
  })

  it('an outage of the provider is not followed by a longer pause when the clock is set back', async () => {
    await liveness.probe('key', { accessToken: 'token' })
    runtime.advance(-3600)
    expect(liveness.lifeOf('another key', -Infinity)).toBeUndefined()
  })

  it('an outage of the provider is followed by one question, while all other sessions are served', async () => {
    await liveness.probe('key', { accessToken: 'token' })
    runtime.advance(30)
    let whileAsking: SessionLife | undefined
    answer = () => {
      whileAsking = liveness.lifeOf('another key', -Infinity)
      return outage()
    }
    await liveness.probe('key', { accessToken: 'token' })
    expect(whileAsking).toBe('live')
    runtime.advance(29)
    expect(liveness.lifeOf('another key', -Infinity)).toBe('live')
  })

  it('the first answer after an outage ends the pause', async () => {
    await liveness.probe('key', { accessToken: 'token' })
    runtime.advance(30)
    answer = () => 'live'
    await liveness.probe('key', { accessToken: 'token' })
    expect(liveness.lifeOf('another key', -Infinity)).toBeUndefined()
    answer = () => {
      expect(liveness.lifeOf('another key', -Infinity)).toBeUndefined()
      return 'live'
    }
    await liveness.probe('key', { accessToken: 'token' })
    expect.assertions(2)
  })

  it('each pause is reported once, however many were being asked about', async () => {
    await race((index) => liveness.probe(`key ${index}`, { accessToken: 'token' }))
    expect(asked).toHaveLength(50)
    expect(failures).toEqual([expect.objectContaining({ failure: 'transient' })])
    runtime.advance(30)
    await liveness.probe('key', { accessToken: 'token' })
    expect(failures).toHaveLength(2)
  })
})
