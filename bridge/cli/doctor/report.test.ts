import { expect, it } from 'vitest'
import { fail, findingText } from './finding.ts'

it('a finding shows nothing of a server that a terminal would act on', () => {
  const evil = '\u001B[2J\nok'
  const text = findingText(fail('login', `It is ${evil}.`, `Tell ${evil}`), {
    colour: (_colour, words) => words,
  })
  expect(text.split('\n')).toHaveLength(2)
  expect(text).toContain(String.raw`It is \u001b[2J\u000aok.`)
  expect(text).toContain(String.raw`-> Tell \u001b[2J\u000aok`)
})
