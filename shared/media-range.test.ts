import { expect, it } from 'vitest'
import { readMediaRanges, weightOf } from './media-range.ts'

it.each<[accept: string | null, weight: number]>([
  [null, 1],
  ['', 1],
  [' ', 1],
  ['*/*', 1],
  ['application/json', 1],
  ['Application/JSON', 1],
  ['APPLICATION/*', 1],
  ['application/json; charset=utf-8', 1],
  ['application/json;q=0.5', 0.5],
  ['application/json ; Q=0.5', 0.5],
  ['text/html, application/json;charset=utf-8;q=0.2', 0.2],
  ['application/json;q=0', 0],
  ['application/json;q=0.000, */*', 0],
  ['application/*;q=0.3, */*', 0.3],
  ['*/*;q=0.1', 0.1],
  ['application/json;q=x', 0],
  ['text/*', 0],
  ['application/json-seq', 0],
  ['text/application/json', 0],
  [',,application/json,', 1],
  ['application/json, application/json;version=2;q=0', 1],
  ['application/json;version=2;q=0.2, application/json;q=0.5, application/json;q=0.1', 0.5],
  ['application/json;profile="a,b;q=0"', 1],
  ['application/json;profile="a, application/json;q=0, b";q=0.4', 0.4],
])('an Accept of %j gives JSON the weight %f', (accept, weight) => {
  expect(weightOf(readMediaRanges(accept), 'application/json')).toBe(weight)
})
