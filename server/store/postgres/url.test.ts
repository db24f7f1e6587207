import { describe, expect, it } from 'vitest'
import { parsePostgresUrl } from './url.ts'

describe('the address of a database', () => {
  it('a database address has ten connections, named statements and settings of our own by default', () => {
    const { named, pool } = parsePostgresUrl('postgres://u:p@db.example:5433/main')
    expect(named).toBe(true)
    expect(pool).toMatchObject({
      connectionString: 'postgres://u:p@db.example:5433/main',
      max: 10,
      application_name: 'drawbridge',
    })
    expect(pool.options).toContain('statement_timeout=5000')
  })

  it.each([
    ['1', 1],
    ['25', 25],
    ['100', 100],
  ])('pool_max=%s', (most, max) => {
    const { pool } = parsePostgresUrl(`postgres://db/main?pool_max=${most}&sslmode=disable`)
    expect(pool).toMatchObject({ max, connectionString: 'postgres://db/main?sslmode=disable' })
  })

  it('a pooler in transaction mode gets neither names nor settings', () => {
    const { named, pool } = parsePostgresUrl('postgres://db/main?pooler=transaction')
    expect({ named, options: pool.options }).toEqual({ named: false, options: undefined })
    expect(pool.connectionString).toBe('postgres://db/main')
  })

  it('the parameter schema names the schema of the tables, and is not sent to the database as an option', () => {
    const { schema, pool } = parsePostgresUrl('postgres://db/main?schema=draw_bridge1')
    expect({ schema, address: pool.connectionString }).toEqual({
      schema: 'draw_bridge1',
      address: 'postgres://db/main',
    })
  })

  it('options of the database address come after ours, so that they win', () => {
    const options = encodeURIComponent('-c search_path=drawbridge -c statement_timeout=9000')
    const { pool } = parsePostgresUrl(`postgres://db/main?options=${options}`)
    expect(pool.options).toMatch(/statement_timeout=5000.*search_path=drawbridge -c statement_timeout=9000$/)
    expect(pool.connectionString).toBe('postgres://db/main')
  })

  it.each([
    ['require', 'verify-full'],
    ['verify-ca', 'verify-full'],
    ['prefer', 'verify-full'],
    ['verify-full', 'verify-full'],
    ['no-verify', 'no-verify'],
    ['disable', 'disable'],
    ['require&uselibpqcompat=true', 'require&uselibpqcompat=true'],
  ])('sslmode=%s means %s', (asked, meant) => {
    const { pool } = parsePostgresUrl(`postgres://db/main?sslmode=${asked}`)
    expect(pool.connectionString).toBe(`postgres://db/main?sslmode=${meant}`)
  })

  it.each([
    ['nothing', ''],
    ['another scheme', 'mysql://u:hunter2@db/main'],
    ['a host and nothing else', 'u:hunter2@db'],
    ['a stray percent sign', 'postgres://u:hunter2%@db/main'],
    ['no number of connections', 'postgres://u:hunter2@db/main?pool_max=many'],
    ['no connection at all', 'postgres://u:hunter2@db/main?pool_max=0'],
    ['too many connections', 'postgres://u:hunter2@db/main?pool_max=101'],
    ['a schema that would have to be quoted', 'postgres://u:hunter2@db/main?schema=Draw"bridge'],
    ['a schema without a name', 'postgres://u:hunter2@db/main?schema='],
    ['another kind of pooler', 'postgres://u:hunter2@db/main?pooler=session'],
  ])('the database address %s is refused, without a word of the password', (_what, url) => {
    let message = ''
    try {
      parsePostgresUrl(url)
    } catch (error) {
      message = String(error)
    }
    expect(message).toContain('The address of the database cannot be used: ')
    expect(message).not.toContain('hunter2')
  })
})
