import { describe, expect, it } from 'vitest'
import { readTeam } from './team.ts'

const read = (environment: Record<string, string>): ReturnType<typeof readTeam> =>
  readTeam('team', environment)

describe('the settings of a team build', () => {
  it('make its profile', () => {
    expect(
      read({
        APP_URL: 'https://app.example.com/notes/',
        BASE_URL: 'https://mcp.example.com/',
        COOKIE_NAME: 'session',
        TEAM_LABEL: 'Notes, staging',
      }),
    ).toEqual({
      id: 'team',
      label: 'Notes, staging',
      appUrl: 'https://app.example.com/notes',
      baseUrl: 'https://mcp.example.com',
      cookieName: 'session',
    })
  })

  it('need the app only', () => {
    expect(read({ APP_URL: 'http://localhost:3000', BASE_URL: '', COOKIE_NAME: '' })).toEqual({
      id: 'team',
      label: 'localhost:3000',
      appUrl: 'http://localhost:3000',
    })
  })

  it('count in that mode only', () => {
    expect(readTeam('production', { APP_URL: 'https://app.example.com' })).toBeUndefined()
  })

  it.each<[Record<string, string>, string]>([
    [{}, 'APP_URL'],
    [{ APP_URL: 'ftp://app.example.com' }, 'APP_URL'],
    [{ APP_URL: 'https://user:secret@app.example.com' }, 'APP_URL'],
    [{ APP_URL: 'https://app.example.com', BASE_URL: 'http://mcp.example.com' }, 'BASE_URL'],
    [{ APP_URL: 'https://app.example.com', COOKIE_NAME: 'two words;' }, 'COOKIE_NAME'],
  ])('%j are refused by the name of what is wrong', (environment, named) => {
    const refused = (): unknown => read(environment)
    expect(refused).toThrow(named)
    expect(refused).toThrow(/and build again\.$/)
    expect(refused).not.toThrow('secret')
  })
})
