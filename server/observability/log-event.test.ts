import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { logEvents } from './log-event.ts'
import { metricTable } from './metrics.ts'

const folder = fileURLToPath(new URL('..', import.meta.url))

/** The server's own sources without tests and dist. */
const sources = globSync('**/*.ts', {
  cwd: folder,
  exclude: (path) => /^(?:node_modules|dist)$/.test(path),
})
  .filter((path) => !/\.test\.ts$|log-event\.ts$|event-kind\.ts$|-events\.ts$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(folder, path), 'utf8') }))

/** Finds the events reported in `text`: in calls of a report function, and in the unions of names that such a function takes. */
function reportedIn(text: string): { name: string; fields: string[] }[] {
  // Up to the comma after the name; a condition may choose between two.
  const calls = [
    ...text.matchAll(/\breport(?:To\([^()]*\))?(?:\?\.)?\(\s*([^,()]*'[^,()]*)(?:,\s*\{([^{}]*)\})?/g),
  ]
  const renamed = [...text.matchAll(/\breport\(\w+ \? ('\w+') : event, fields\)/g)]
  const unions = [...text.matchAll(/type \w*Event =((?:\s*\|?\s*'\w+'(?:\s*\/\/[^\n]*)?)+)/g)]
  return [...calls, ...renamed, ...unions].flatMap(([, names = '', fields = '']) =>
    [...names.replaceAll(/\/\/[^\n]*/g, '').matchAll(/'(\w+)'/g)].map(([, name = '']) => ({
      name,
      fields: fieldsIn(fields),
    })),
  )
}

function fieldsIn(literal: string): string[] {
  return literal
    .replaceAll(/\([^()]*\)/g, '')
    .split(',')
    .map((member) => /^\s*(?:\.\.\.)?(\w+)/.exec(member)?.[1] ?? '')
    .filter((field) => field !== '')
    .map((field) => (field === 'error' ? 'err' : field))
}

const reported = sources.flatMap(({ path, text }) =>
  reportedIn(text).map(({ name, fields }) => ({ path, name, fields })),
)

describe('the table of events', () => {
  it('the table of events has every event that the code reports', () => {
    expect(reported.length).toBeGreaterThan(40)
    const strangers = reported.filter(({ name }) => !Object.hasOwn(logEvents, name))
    expect(strangers.map(({ path, name }) => `${path}: ${name}`)).toEqual([])
  })

  it('the table of events has only events that the code reports', () => {
    const names = new Set(reported.map(({ name }) => name))
    expect(Object.keys(logEvents).filter((name) => !names.has(name))).toEqual([])
  })

  it('the table of events has every field that the code gives to its event', () => {
    const strangers = reported.flatMap(({ path, name, fields }) =>
      fields
        .filter((field) => !logEvents[name]?.fields.includes(field))
        .map((field) => `${path}: ${name}.${field}`),
    )
    expect(strangers).toEqual([])
  })

  it.each(Object.entries(logEvents))(
    '%s: its detail is one of its fields, its meaning a sentence',
    (_, row) => {
      if (row.detail !== undefined) expect(row.fields).toContain(row.detail)
      expect(row.meaning).toMatch(/^[A-Z].*\.$/)
      // Events searched by time and client must be logged at the default level.
      if (row.audit) expect(row.level).not.toBe('debug')
    },
  )
})

describe('docs/observability.md', () => {
  const document = readFileSync(join(folder, '../docs/observability.md'), 'utf8')

  it('docs/observability.md has every event and metric; npm run docs writes them', () => {
    const names = [...Object.keys(logEvents), ...Object.keys(metricTable)]
    expect(names.filter((name) => !document.includes(`| \`${name}\` |`))).toEqual([])
  })

  it('docs/observability.md alerts on events and metrics that exist', () => {
    const selected = [...document.matchAll(/event=~?"([\w|]+)"/g)].flatMap(([, names = '']) =>
      names.split('|'),
    )
    expect(selected.length).toBeGreaterThan(5)
    expect(selected.filter((name) => !Object.hasOwn(logEvents, name))).toEqual([])
    const metrics = [...document.matchAll(/\b(drawbridge_\w+?)(?:_count|_bucket)?[{ ]/g)].map(
      ([, name]) => name,
    )
    expect(metrics.filter((name) => !Object.hasOwn(metricTable, name ?? ''))).toEqual([])
  })
})
