import { z } from 'zod/v4'
import type { RegisterKit, ToolModule } from '../../server/mcp/tools/tool-module.ts'

type McpServer = Parameters<NonNullable<ToolModule['register']>>[0]
type InputRequest = ReturnType<RegisterKit['inputRequired']['listRoots']>
type Answer = { content: [{ type: 'text'; text: string }] }
type Properties = Record<string, object>

const nothing = z.object({})
const textOf = (text: string): Answer => ({ content: [{ type: 'text', text }] })

/** Adds the tools that ask the client while they run. */
export function registerAskingTools(server: McpServer, sdk: RegisterKit): void {
  registerRequests(server, sdk)
  registerRounds(server, sdk)
}

/** Builds a schema that asks for a form with these fields. */
function form(
  properties: Properties,
  required: string[] = Object.keys(properties),
): {
  type: 'object'
  properties: never
  required: string[]
} {
  return { type: 'object', properties: properties as never, required }
}

/** Registers tools that ask by server requests, in revisions up to 2025-11-25. */
function registerRequests(server: McpServer, { inputRequired, inputResponse }: RegisterKit): void {
  server.registerTool(
    'test_sampling',
    { description: 'Asks the model of the client.', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const { content } = await mcpReq.requestSampling({
        messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
        maxTokens: 100,
      })
      const [first] = Array.isArray(content) ? content : [content]
      return textOf(`LLM response: ${first?.type === 'text' ? first.text : ''}`)
    },
  )
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the user.', inputSchema: z.object({ message: z.string() }) },
    async ({ message }, { mcpReq }) => {
      const requestedSchema = form({
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      })
      const { action, content } = await mcpReq.elicitInput({ message, requestedSchema })
      return textOf(`User response: action=${action}, content=${JSON.stringify(content)}`)
    },
  )
  server.registerTool(
    'test_missing_capability',
    { description: 'Needs sampling.', inputSchema: nothing },
    (_input, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'question')
      if (answer.kind === 'sampling') return textOf('Sampled.')
      return inputRequired({ inputRequests: { question: sample(inputRequired, 'Anything?', 10) } })
    },
  )

  /** Asks once for a form, in both eras, and returns the response. */
  const askForm = (name: string, description: string, properties: Properties): void => {
    server.registerTool(name, { description, inputSchema: nothing }, (_input, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'form')
      if (answer.kind === 'elicit') {
        const content = JSON.stringify(answer.content ?? {})
        return textOf(`Elicitation completed: action=${answer.action}, content=${content}`)
      }
      const requestedSchema = form(properties, [])
      return inputRequired({
        inputRequests: { form: inputRequired.elicit({ message: 'Please fill this in.', requestedSchema }) },
      })
    })
  }
  askForm('test_streaming_elicitation', 'Asks the user.', { name: { type: 'string' } })
  askForm('test_elicitation_sep1034_defaults', 'Asks with defaults.', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  })
  const titled = [
    { const: 'value1', title: 'First Option' },
    { const: 'value2', title: 'Second Option' },
    { const: 'value3', title: 'Third Option' },
  ]
  const options = ['option1', 'option2', 'option3']
  askForm('test_elicitation_sep1330_enums', 'Asks for choices of every form.', {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  })
}

/** Registers tools of 2026-07-28 that ask by `input_required`, in one or more rounds. */
function registerRounds(server: McpServer, sdk: RegisterKit): void {
  const { acceptedContent, inputRequired, inputResponse, sealState } = sdk
  const add = (
    name: string,
    answer: (
      context: Parameters<Parameters<McpServer['registerTool']>[2]>[1],
    ) => ReturnType<typeof inputRequired> | Answer,
  ): void => {
    server.registerTool(
      name,
      { description: 'Asks for input in rounds.', inputSchema: nothing },
      (_input, context) => answer(context as never),
    )
  }
  const ask = (message: string, properties: Properties): InputRequest =>
    inputRequired.elicit({ message, requestedSchema: form(properties) })
  const askName = (message = 'What is your name?'): InputRequest => ask(message, { name: { type: 'string' } })
  const nameIn = (responses: unknown, key: string): string | undefined => {
    const given = acceptedContent(responses as never, key, z.object({ name: z.string() }))
    return given?.name
  }

  add('test_input_required_result_elicitation', ({ mcpReq }) => {
    const name = nameIn(mcpReq.inputResponses, 'user_name')
    return name === undefined
      ? inputRequired({ inputRequests: { user_name: askName() } })
      : textOf(`Hello, ${name}!`)
  })
  add('test_input_required_result_sampling', ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'capital_question')
    if (answer.kind === 'sampling') return textOf(JSON.stringify(answer.result.content))
    const question = sample(inputRequired, 'What is the capital of France?', 100)
    return inputRequired({ inputRequests: { capital_question: question } })
  })
  add('test_input_required_result_list_roots', ({ mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'client_roots')
    if (answer.kind === 'roots') return textOf(answer.roots.map(({ uri }) => uri).join(', '))
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
  })
  for (const name of [
    'test_input_required_result_request_state',
    'test_input_required_result_tampered_state',
  ]) {
    add(name, ({ mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'confirm')
      if (answer.kind === 'elicit' && mcpReq.requestState<string>() === 'asked') return textOf('state-ok')
      return inputRequired({
        inputRequests: { confirm: ask('Please confirm', { ok: { type: 'boolean' } }) },
        requestState: sealState('asked'),
      })
    })
  }
  add('test_input_required_result_multiple_inputs', ({ mcpReq }) => {
    const keys = ['user_name', 'greeting', 'client_roots']
    const kinds = keys.map((key) => inputResponse(mcpReq.inputResponses, key).kind)
    if (kinds.join() === 'elicit,sampling,roots' && mcpReq.requestState() === 'asked')
      return textOf('All there.')
    return inputRequired({
      inputRequests: {
        user_name: askName(),
        greeting: sample(inputRequired, 'Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: sealState('asked'),
    })
  })
  add('test_input_required_result_multi_round', ({ mcpReq }) => {
    const name = mcpReq.requestState<{ name: string }>()?.name
    const colour = acceptedContent<{ color: string }>(mcpReq.inputResponses, 'step2')?.color
    if (name !== undefined && colour !== undefined) return textOf(`${name} likes ${colour}.`)
    const given = nameIn(mcpReq.inputResponses, 'step1')
    if (given === undefined) {
      return inputRequired({
        inputRequests: { step1: askName('Step 1: What is your name?') },
        requestState: sealState({}),
      })
    }
    return inputRequired({
      inputRequests: { step2: ask('Step 2: What is your favorite color?', { color: { type: 'string' } }) },
      requestState: sealState({ name: given }),
    })
  })
  add('test_input_required_result_capabilities', ({ mcpReq }) => {
    const envelope = mcpReq.envelope as Record<string, { elicitation?: object }> | undefined
    const declared = envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {}
    if (inputResponse(mcpReq.inputResponses, 'question').kind !== 'missing')
      return textOf('Asked what can be asked.')
    const question = declared.elicitation
      ? askName()
      : sample(inputRequired, 'What is the capital of France?', 100)
    return inputRequired({ inputRequests: { question } })
  })
}

function sample(inputRequired: RegisterKit['inputRequired'], text: string, maxTokens: number): InputRequest {
  return inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text } }],
    maxTokens,
  })
}
