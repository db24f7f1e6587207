import { z } from 'zod/v4'
import type { RegisterKit, ToolModule } from '../../server/mcp/tools/tool-module.ts'
import { pixel } from './media-sample.ts'

type McpServer = Parameters<NonNullable<ToolModule['register']>>[0]
type Said = { role: 'user'; content: { type: 'text'; text: string } }

const words = ['paris', 'park', 'party']

const say = (text: string): Said => ({ role: 'user', content: { type: 'text', text } })

/** Adds the prompts that the suite uses. */
export function registerPrompts(
  server: McpServer,
  { acceptedContent, completable, inputRequired }: RegisterKit,
): void {
  server.registerPrompt('test_simple_prompt', { description: 'A prompt without arguments.' }, () => ({
    messages: [say('This is a simple prompt for testing.')],
  }))

  const complete = (value: string): string[] => words.filter((word) => word.startsWith(value))
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'A prompt with two arguments.',
      argsSchema: z.object({
        arg1: completable(z.string().describe('First test argument'), complete),
        arg2: completable(z.string().describe('Second test argument'), complete),
      }),
    },
    ({ arg1, arg2 }) => ({
      messages: [say(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  )

  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    {
      description: 'A prompt with a resource in it.',
      argsSchema: z.object({ resourceUri: z.string().describe('URI of the resource to embed') }),
    },
    ({ resourceUri }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'resource',
            resource: {
              uri: resourceUri,
              mimeType: 'text/plain',
              text: 'Embedded resource content for testing.',
            },
          },
        },
        say('Please process the embedded resource above.'),
      ],
    }),
  )

  server.registerPrompt('test_prompt_with_image', { description: 'A prompt with an image in it.' }, () => ({
    messages: [
      { role: 'user', content: { type: 'image', data: pixel, mimeType: 'image/png' } },
      say('Please analyze the image above.'),
    ],
  }))

  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'A prompt that asks for its context.' },
    ({ mcpReq }) => {
      const given = acceptedContent<{ context: string }>(mcpReq.inputResponses, 'user_context')
      if (given) return { messages: [say(`The context is ${given.context}.`)] }
      return inputRequired({
        inputRequests: {
          user_context: inputRequired.elicit({
            message: 'What context should the prompt use?',
            requestedSchema: {
              type: 'object',
              properties: { context: { type: 'string' } },
              required: ['context'],
            },
          }),
        },
      })
    },
  )
}
