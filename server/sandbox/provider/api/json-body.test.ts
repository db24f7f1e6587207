import { describe, expect, it } from 'vitest'
import { readJsonBody, type JsonBody } from './json-body.ts'

const read = (text: string): Promise<JsonBody> =>
  readJsonBody(new Request('http://localhost/', { method: 'POST', body: text }))

describe('a JSON body', () => {
  it.each([
    ['{"a":"x"}', 'x'],
    ['{"a":""}', ''],
    ['{"a":null}', ''],
    ['{}', ''],
    ['', ''],
    [' \n', ''],
    ['{"b":"x"}', ''],
  ])('%j has the text %j', async (text, value) => {
    expect((await read(text)).text('a')).toBe(value)
  })

  it.each(['{"a":1}', '{"a":true}', '{"a":["x"]}', '{"a":{}}'])('%j has no text', async (text) => {
    const body = await read(text)
    expect(() => body.text('a')).toThrow(expect.objectContaining({ code: 'bad_json', status: 400 }))
  })

  it.each(['{"a":1}', '{"a":"x"}', '{"a":[]}'])('%j has no object', async (text) => {
    const body = await read(text)
    expect(() => body.object('a')).toThrow('a must be an object')
  })

  it.each([
    ['{"a":true}', true],
    ['{"a":false}', false],
    ['{"a":null}', false],
    ['{}', false],
  ])('%j has the flag %j', async (text, value) => {
    expect((await read(text)).flag('a')).toBe(value)
  })

  it.each(['{"a":1}', '{"a":"true"}', '{"a":[]}'])('%j has no flag', async (text) => {
    const body = await read(text)
    expect(() => body.flag('a')).toThrow('a must be a boolean')
  })

  it('has an object, or none', async () => {
    const body = await read('{"a":{"b":[1]},"c":null}')
    expect(body.object('a')).toEqual({ b: [1] })
    expect(body.object('c')).toBeUndefined()
    expect(body.object('d')).toBeUndefined()
  })

  it('has only members of its own', async () => {
    const body = await read('{"__proto__":{"email":"eve@example.com"}}')
    expect(body.text('email')).toBe('')
    expect(body.text('constructor')).toBe('')
  })

  it.each(['{', 'x', '[]', '"x"', '1', 'null', 'a=b&c=d'])('is not %j', async (text) => {
    await expect(read(text)).rejects.toMatchObject({ code: 'bad_json', status: 400 })
  })
})
