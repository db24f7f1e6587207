import { expect, it } from 'vitest'
import { createAttempts } from './attempts.ts'

it('whoever fails is a figure with the reason, and is left alone from then on; all others go on', async () => {
  const said: string[] = []
  const done: string[] = []
  const { attempt, failures } = createAttempts((text) => said.push(text))
  for (let round = 1; round <= 3; round += 1) {
    await attempt('bad', async () => {
      done.push(`bad ${round}`)
      if (round === 2) throw new Error('It ended with 1.')
    })
    await attempt('good', async () => void done.push(`good ${round}`))
  }
  expect(done).toEqual(['bad 1', 'good 1', 'bad 2', 'good 2', 'good 3'])
  expect(said).toEqual(['bad: It ended with 1.'])
  expect(failures('area')).toMatchObject([
    { area: 'area', name: 'bad', reason: 'It ended with 1.', ok: false },
  ])
})
