import { describe, expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { freshnessOf } from './client-id-metadata-document.ts'

const date = (seconds: number): string => new Date((start + seconds) * 1000).toUTCString()

const seconds = (headers: Record<string, string>): number =>
  freshnessOf(new Headers(headers), start).freshUntil - start

describe('freshnessOf (RFC 9111 sections 4.2 and 5.2.2)', () => {
  it.each<[rule: string, headers: Record<string, string>, expected: number]>([
    ['five minutes when the host does not say', {}, 300],
    ['max-age', { 'cache-control': 'max-age=600' }, 600],
    ['max-age among others, in capitals', { 'cache-control': 'public, MAX-AGE=600, immutable' }, 600],
    ['max-age less the Age', { 'cache-control': 'max-age=600', age: '200' }, 400],
    ['a quoted max-age', { 'cache-control': 'max-age="600"' }, 600],
    ['max-age before Expires', { 'cache-control': 'max-age=600', expires: date(60) }, 600],
    ['CIMD 4.4: not less than 30 seconds: max-age=0', { 'cache-control': 'max-age=0' }, 30],
    ['not less than 30 seconds: no-cache', { 'cache-control': 'no-cache, max-age=600' }, 30],
    ['not less than 30 seconds: no-store', { 'cache-control': 'no-store' }, 30],
    ['not more than a day', { 'cache-control': 'max-age=31536000' }, 86_400],
    [
      'numbers beyond all numbers',
      { 'cache-control': `max-age=${'9'.repeat(400)}`, age: '9'.repeat(400) },
      30,
    ],
    ['a max-age beyond all numbers', { 'cache-control': `max-age=${'9'.repeat(400)}` }, 86_400],
    ['a max-age that is no number', { 'cache-control': 'max-age=soon' }, 30],
    ['a cache of others has its own s-maxage', { 'cache-control': 's-maxage=600' }, 300],
    ['Expires by the clock of the host', { date: date(-7200), expires: date(-6600) }, 600],
    ['Expires without a Date', { expires: date(600) }, 600],
    ['Expires in the past', { date: date(0), expires: date(-1) }, 30],
    ['an Expires that is no date', { expires: 'soon' }, 30],
  ])('%s', (_rule, headers, expected) => {
    expect(seconds(headers)).toBe(expected)
  })

  it('knows when it was fetched', () => {
    expect(freshnessOf(new Headers(), start)).toEqual({
      fetchedAt: start,
      freshUntil: start + 300,
      etag: undefined,
    })
  })

  it.each<[etag: string, expected: string | undefined]>([
    ['"abc"', '"abc"'],
    ['W/"abc"', 'W/"abc"'],
    ['abc', undefined],
    ['"a"b"', undefined],
    [`"${'a'.repeat(200)}"`, undefined],
  ])('RFC 9110 8.8.3: the entity tag %s', (etag, expected) => {
    expect(freshnessOf(new Headers({ etag }), start).etag).toBe(expected)
  })
})
