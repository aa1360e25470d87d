/* engine 1, frozen by test/compat/freeze.ts */
var pt=Object.defineProperty;var i=(e,t)=>pt(e,"name",{value:t,configurable:!0});var se=(e,t)=>{for(var n in t)pt(e,n,{get:t[n],enumerable:!0})};var Lt={};se(Lt,{ATTEMPT_MOVES:()=>St,CALL_KINDS:()=>rr,CONSENT_MOVES:()=>It,DEFAULT_QUEUE:()=>We,DEFAULT_QUEUES:()=>kr,DELIVERY_CAUSES:()=>Ke,DELIVERY_MOVES:()=>Et,DELIVERY_OUTCOMES:()=>Be,ERROR_CODES:()=>ir,FAULT_POINTS:()=>ar,GhoulsError:()=>f,LONGEST_RESIDENT_DELAY_MS:()=>je,MAX_DEPTH:()=>Q,MAX_FAILURE_MESSAGE:()=>ue,MAX_FAILURE_STACK:()=>gt,MAX_VALUE_BYTES:()=>Y,MOVES:()=>ee,NonRetryableError:()=>V,OPEN_DELIVERY:()=>He,PERMISSIONS:()=>xt,PUBLICATIONS_BEFORE_ATTENTION:()=>Me,PUBLICATION_DELAYS:()=>ce,PUBLISHER_GRACE_SECONDS:()=>bt,QUEUE_NAME:()=>Ge,QueueSettings:()=>br,RUN_FAILURE_CODES:()=>Ue,RUN_MOVES:()=>kt,RandomStream:()=>H,SKIP_REASONS:()=>Ir,StepFailedError:()=>L,UnserializableError:()=>k,callKey:()=>P,canMove:()=>qt,canonicalText:()=>Ce,decideSkip:()=>Ve,delayAfterFailure:()=>wr,delayAfterPublication:()=>_r,describeCall:()=>ae,describeFailure:()=>q,diagram:()=>Sr,durationMs:()=>A,formatMessage:()=>yr,idempotencyKeyOf:()=>ve,identityCodec:()=>gr,isDuration:()=>M,isRunId:()=>D,isTerminalRun:()=>Je,mayDo:()=>hr,noFaults:()=>$e,parseJson:()=>lr,parseMessage:()=>le,queueUrlVariable:()=>Er,resolveBackoff:()=>ze,retryDelayMs:()=>Fe,serialize:()=>X,sha256:()=>E,sourcesOf:()=>fe,sqlStates:()=>N,statesOf:()=>S,terminalStatesOf:()=>te,wire:()=>Ye});import{createHash as yt}from"node:crypto";var rr=["step"];function P(e){return JSON.stringify([e.epoch,e.scope,e.kind,e.name,e.nth])}i(P,"callKey");function ae(e){let t=e.nth===1?"":` (use ${e.nth})`,n=e.scope===""?"":` in ${e.scope}`;return`${e.kind} "${e.name}"${t}${n}`}i(ae,"describeCall");function ve(e,t){return yt("sha256").update(`ghouls-step-1
${e}
${P(t)}`).digest("hex")}i(ve,"idempotencyKeyOf");var H=class{static{i(this,"RandomStream")}#e;#n=0;constructor(t,n,r){this.#e=`ghouls-random-1
${JSON.stringify([t,n,r])}`}#t(){return this.#n+=1,yt("sha256").update(`${this.#e}
${this.#n}`).digest()}random(){return Number(this.#t().readBigUInt64BE()>>11n)/2**53}uuid(){let t=this.#t().subarray(0,16);t[6]=t[6]&15|64,t[8]=t[8]&63|128;let n=t.toString("hex");return`${n.slice(0,8)}-${n.slice(8,12)}-${n.slice(12,16)}-${n.slice(16,20)}-${n.slice(20)}`}};import{createHash as or}from"node:crypto";function E(e){return or("sha256").update(e,"utf8").digest("hex")}i(E,"sha256");var ir=["invalid_request","malformed_json","unknown_workflow","unknown_queue","input_invalid","too_large","idempotency_conflict","admission_busy","not_found","unauthenticated","forbidden","hold_ended","wrong_transaction","configuration_invalid","schema_outdated","ledger_unavailable","outcome_unknown","queue_unavailable","internal"],f=class extends Error{static{i(this,"GhoulsError")}code;fix;issues;retryAfterSeconds;constructor(t,n,r={}){super(n,r.cause===void 0?void 0:{cause:r.cause}),this.name="GhoulsError",this.code=t,this.fix=r.fix,this.issues=r.issues,this.retryAfterSeconds=r.retryAfterSeconds}},V=class extends Error{static{i(this,"NonRetryableError")}constructor(t,n){super(t,n),this.name="NonRetryableError"}},L=class extends Error{static{i(this,"StepFailedError")}step;tries;failure;constructor(t,n,r){super(`step "${t}" failed after ${n===1?"1 try":`${n} tries`}: ${r.message}`),this.name="StepFailedError",this.step=t,this.tries=n,this.failure=r}},ue=2e3,gt=6e3;function q(e){try{if(e instanceof Error){let n=typeof e.stack=="string"?J(e.stack,gt):void 0;return{name:J(String(e.name),200),message:J(String(e.message),ue),...n===void 0?{}:{stack:n}}}if(typeof e=="string")return{name:"Error",message:J(`a string was thrown: ${e}`,ue)};if(e==null)return{name:"Error",message:`${String(e)} was thrown, not an Error`};let t=JSON.stringify(e,(n,r)=>typeof r=="bigint"?String(r):r);return{name:"Error",message:J(`a value that is no Error was thrown: ${t??typeof e}`,ue)}}catch{return{name:"Error",message:`a value of type ${typeof e} that cannot be described was thrown`}}}i(q,"describeFailure");function J(e,t){return e.length<=t?e.toWellFormed():`${e.slice(0,t).toWellFormed()}\u2026 (${e.length-t} more characters)`}i(J,"bounded");var De={ms:1,s:1e3,m:6e4,h:36e5,d:864e5},sr=3650*De.d;function M(e){let t=/^(\d{1,12})(ms|s|m|h|d)$/.exec(e);return t===null?!1:Number(t[1])*De[t[2]]<=sr}i(M,"isDuration");function A(e){let t=/^(\d{1,12})(ms|s|m|h|d)$/.exec(e);if(t===null||!M(e))throw new f("configuration_invalid",`"${e.slice(0,40)}" is not a duration`,{fix:'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).'});return Number(t[1])*De[t[2]]}i(A,"durationMs");var ar=["ledger.before-statement","ledger.after-statement","ledger.before-commit","ledger.after-commit","queue.before-publish","queue.after-publish","admission.after-commit","admission.after-publish","worker.after-claim","worker.before-step","worker.after-step","worker.after-journal","worker.before-settle","worker.after-settle","relay.after-select","relay.after-publish"],$e=i(()=>{},"noFaults");var Q=100,ur=new Set(["__proto__","constructor","prototype"]),Te=JSON,dr=JSON.parse;function lr(e){if(cr(e)>Q)throw new f("malformed_json",`the document is nested more than ${Q} levels deep`,{fix:"Flatten the document, or send it as one string."});let t;try{t=dr(e,(r,o,s)=>typeof o=="number"?Te.rawJSON(s.source??String(o)):o)}catch(r){throw new f("malformed_json",`the document is not valid JSON: ${r.message.slice(0,200)}`,{fix:"Send one JSON document in UTF-8."})}let n=[];if(Ne(t,"",n),n.length>0)throw new f("invalid_request","the document holds values that cannot be kept unchanged",{issues:n,fix:"Send large numbers as strings, and text without NUL and lone surrogates."});return{value:JSON.parse(e),canonical:Ce(t),member:i(r=>{if(!(typeof t!="object"||t===null||!Object.hasOwn(t,r)))return Ce(t[r])},"member")}}i(lr,"parseJson");function cr(e){let t=0,n=0,r=!1;for(let o=0;o<e.length;o+=1){let s=e.charCodeAt(o);r?s===92?o+=1:s===34&&(r=!1):s===34?r=!0:s===91||s===123?n=Math.max(n,t+=1):(s===93||s===125)&&(t-=1)}return n}i(cr,"nestingOf");function Ne(e,t,n){if(!(n.length>=20)){if(typeof e=="string"){let r=ht(e);r!==void 0&&n.push({path:t,message:r});return}if(!(typeof e!="object"||e===null)){if(Te.isRawJSON(e)){let r=Number(JSON.stringify(e));Math.abs(r)>Number.MAX_SAFE_INTEGER&&n.push({path:t,message:"a number beyond 2^53 - 1 would not come back unchanged; send it as a string"});return}if(Array.isArray(e)){e.forEach((r,o)=>Ne(r,`${t}/${o}`,n));return}for(let[r,o]of Object.entries(e)){let s=`${t}/${r.slice(0,100).toWellFormed()}`;ur.has(r)&&n.push({path:s,message:"this key is not allowed"});let a=ht(r);a!==void 0&&n.push({path:s,message:`the key: ${a}`}),Ne(o,s,n)}}}}i(Ne,"inspect");function ht(e){if(e.includes("\0"))return"text with a NUL character is not taken";if(!e.isWellFormed())return"text with a lone surrogate is not taken"}i(ht,"textProblem");function Ce(e){return JSON.stringify(Oe(e))}i(Ce,"canonicalText");function Oe(e){if(typeof e!="object"||e===null||Te.isRawJSON(e))return e;if(Array.isArray(e))return e.map(Oe);let t=Object.entries(e).toSorted(([n],[r])=>n<r?-1:1);return Object.fromEntries(t.map(([n,r])=>[n,Oe(r)]))}i(Oe,"sorted");var k=class extends Error{static{i(this,"UnserializableError")}reason;constructor(t,n){super(n),this.name="UnserializableError",this.reason=t}},Y=1048576;function X(e,t=Y){if(e===void 0)return;let n;try{n=JSON.stringify(de(e,"",[]))}catch(o){throw o instanceof k?o:new k("unserializable",`it cannot be turned into JSON: ${String(o).slice(0,500)}`)}let r=Buffer.byteLength(n);if(r>t)throw new k("too_large",`it is ${r} bytes of JSON, the limit is ${t}`);return n}i(X,"serialize");function de(e,t,n){let r=t===""?"the value":`the value at ${t}`,o=i(d=>new k("unserializable",`${r} is ${d}, which JSON cannot hold`),"refuse");switch(typeof e){case"string":case"boolean":return e;case"number":if(!Number.isFinite(e))throw o(String(e));return e;case"undefined":case"bigint":case"symbol":case"function":throw o(`a value of type ${typeof e}`);case"object":}if(e===null)return null;if(n.includes(e))throw o("a cycle");if(n.length>Q)throw o(`nested more than ${Q} levels deep`);let s=[...n,e];if("toJSON"in e&&typeof e.toJSON=="function"){let d=e.toJSON("");if(d===e)throw o("a cycle of toJSON");return de(d,t,s)}if(Array.isArray(e))return Array.from(e,(d,l)=>de(d,`${t}/${l}`,s));if(!mr(e))throw o(`a ${e.constructor?.name??"class instance"}`);let a={};for(let[d,l]of Object.entries(e))l!==void 0&&Object.defineProperty(a,d,{value:de(l,`${t}/${d.slice(0,100)}`,s),enumerable:!0,configurable:!0,writable:!0});return a}i(de,"plain");function mr(e){let t=Object.getPrototypeOf(e);return t===null||t===Object.prototype?!0:Object.getPrototypeOf(t)===null&&e.constructor?.name==="Object"}i(mr,"isPlainObject");var _t="[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",fr=new RegExp(`^${_t}$`),pr=new RegExp(`^run:(${_t}):([1-9]\\d{0,8})$`);function D(e){return fr.test(e)}i(D,"isRunId");function yr(e){return`run:${e.runId}:${e.enqueueSeq}`}i(yr,"formatMessage");function le(e){let t=pr.exec(e);if(t!==null)return{runId:t[1],enqueueSeq:Number(t[2])}}i(le,"parseMessage");var gr={encode:i(e=>Promise.resolve(e),"encode"),decode:i(e=>Promise.resolve(e),"decode")};var xt=["runs:admit","runs:release","runs:read","workflows:read"],wt={operator:xt,submitter:["runs:admit","runs:release","runs:read","workflows:read"],decider:["runs:read","workflows:read"]};function hr(e,t){return e.roles.some(n=>Object.hasOwn(wt,n)&&wt[n]?.includes(t))}i(hr,"mayDo");var bt=15,Pe=[60,120,300,600,1800,3600],Le=[5,10,30,60,120,300],Me=5;function _r(e){return Pe[Math.min(Math.max(e,1),Pe.length)-1]}i(_r,"delayAfterPublication");function wr(e){return Le[Math.min(Math.max(e,1),Le.length)-1]}i(wr,"delayAfterFailure");var ce={afterSuccess:Pe,afterFailure:Le};var je=1e4;function ze(e={}){let t={initialMs:A(e.initial??"200ms"),factor:e.factor??2,maxMs:A(e.max??"10s")};if(!(t.factor>=1&&t.factor<=100))throw new f("configuration_invalid",`a backoff factor of ${String(e.factor)} is not taken`,{fix:"Give a factor from 1 to 100."});if(t.maxMs>je||t.initialMs>je)throw new f("configuration_invalid","a delay above 10 s between two tries is not supported yet",{fix:'Use delays up to "10s": a longer wait has to park the run, and this version has no parks.'});return t}i(ze,"resolveBackoff");function Fe(e,t,n){let r=Math.min(e.maxMs,e.initialMs*e.factor**(t-2));return Math.round(r/2+r/2*n)}i(Fe,"retryDelayMs");var Ue=["workflow_failed","step_failed","workflow_changed","journal_mismatch","duplicate_call","invalid_call","input_invalid","output_invalid","unserializable","too_large","deadline","out_of_time"];import*as $ from"zod";var xr=$.string().refine(e=>M(e),'write a whole number and a unit, such as "90s" or "15m"'),Ge=/^[a-z][a-z0-9-]{0,31}$/,br=$.strictObject({batchSize:$.int().min(1).max(10).default(5),concurrency:$.int().min(1).max(1e3).default(2),functionTimeout:xr.default("15m")}),kr={runs:{batchSize:5,concurrency:2},rites:{batchSize:1,concurrency:1}},We="runs";function Er(e){return`GHOULS_QUEUE_${e.toUpperCase().replaceAll("-","_")}_URL`}i(Er,"queueUrlVariable");var Z=["QUEUED","FAILING","CANCELLING"],kt={QUEUED:["RUNNING","FAILING","CANCELLING"],RUNNING:["AWAITING_HARDWARE","AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER","QUEUED","COMPLETING","DONE","FAILING","FAILED","CANCELLING"],AWAITING_HARDWARE:["RUNNING","QUEUED","FAILING","CANCELLING"],AWAITING_CONSENT:Z,AWAITING_DELEGATE:Z,AWAITING_CHILD:Z,AWAITING_SIGNAL:Z,AWAITING_TIMER:Z,COMPLETING:["DONE"],FAILING:["FAILED"],CANCELLING:["CANCELLED"],DONE:[],FAILED:[],CANCELLED:[]},Et={HELD:["PENDING","FENCED"],PENDING:["CLAIMED","FENCED"],CLAIMED:["SETTLED","FENCED"],SETTLED:[],FENCED:[]},me=["SUCCEEDED","FAILED","CANCELLED"],St={DEFINED:["SUBMITTING","CANCELLED"],SUBMITTING:["SUBMITTED","RUNNING",...me,"UNCERTAIN"],SUBMITTED:["RUNNING",...me,"UNCERTAIN"],RUNNING:[...me,"UNCERTAIN"],UNCERTAIN:["SUBMITTING","SUBMITTED","RUNNING",...me],SUCCEEDED:[],FAILED:[],CANCELLED:[]},It={PENDING:["GRANTED","DENIED","EXPIRED","CANCELLED"],GRANTED:[],DENIED:[],EXPIRED:[],CANCELLED:[]},ee={run:kt,delivery:Et,attempt:St,consent:It},Be=["done","failed","parked","continued","lost","given_back","refused"],Ke=["admitted","resumed","continued","recovered","contain"];function S(e){return Object.keys(ee[e])}i(S,"statesOf");function qt(e,t,n){return ee[e][t]?.includes(n)??!1}i(qt,"canMove");function fe(e,t){return S(e).filter(n=>qt(e,n,t))}i(fe,"sourcesOf");function te(e){return S(e).filter(t=>(ee[e][t]??[]).length===0)}i(te,"terminalStatesOf");var He=S("delivery").filter(e=>!te("delivery").includes(e));function Je(e){return te("run").includes(e)}i(Je,"isTerminalRun");function N(e){for(let t of e)if(!/^[A-Z_]+$/.test(t))throw new TypeError(`not a state: ${t}`);return e.map(t=>`'${t}'`).join(", ")}i(N,"sqlStates");function Sr(e){let t=Object.entries(ee[e]).flatMap(([n,r])=>r.length===0?[`    ${n} --> [*]`]:r.map(o=>`    ${n} --> ${o}`));return["stateDiagram-v2",`    [*] --> ${S(e)[0]}`,...t].join(`
`)}i(Sr,"diagram");var Ir=["unknown","terminal","settled","fenced","superseded","held","early","claimed","paused","quarantined","ending","contended"],qr=43e3,j=i(e=>({reason:e,deleteMessage:!0,retryInSeconds:0}),"gone"),z=i((e,t)=>({reason:e,deleteMessage:!1,retryInSeconds:Math.min(qr,Math.max(1,Math.ceil(t)))}),"back");function Ve(e){return e===void 0?z("unknown",30):Je(e.runStatus)?j("terminal"):e.deliveryStatus==="SETTLED"?j("settled"):e.deliveryStatus==="FENCED"?j("fenced"):e.seq<e.currentSeq?j("superseded"):e.deliveryStatus==="CLAIMED"?z("claimed",Math.max(5,e.leaseEndsInSeconds??30)):e.deliveryStatus==="HELD"?z("held",30):e.quarantined?j("quarantined"):e.paused?j("paused"):e.runStatus!=="QUEUED"&&e.cause!=="contain"?z("ending",30):e.dueInSeconds>0?z("early",e.dueInSeconds):z("contended",2)}i(Ve,"decideSkip");var Ye={};se(Ye,{Admitted:()=>Nt,BatchAdmitted:()=>$r,BatchItem:()=>$t,BatchOutcome:()=>Ct,BatchRequest:()=>Dr,IdempotencyKey:()=>vt,MAX_BATCH:()=>At,MAX_BODY_BYTES:()=>Rr,MAX_PAGE:()=>Ar,Problem:()=>Lr,Released:()=>Nr,RunError:()=>Ot,RunPage:()=>Or,RunRequest:()=>Dt,RunSummary:()=>Qe,RunView:()=>Cr,Timeline:()=>Tr,TimelineEntry:()=>Tt,WorkflowList:()=>Pr,WorkflowRef:()=>pe,WorkflowView:()=>Pt});import*as u from"zod";var Rr=1048576,At=100,Ar=200,w=u.iso.datetime(),vr=u.string().min(1).max(100),vt=u.string().min(1).max(200).regex(/^[\x21-\x7e]+$/,"printable ASCII without spaces"),Dt=u.strictObject({workflow:vr.optional(),version:u.int().min(1).max(1e6).optional(),input:u.unknown().optional(),queue:u.string().regex(Ge).optional(),priority:u.int().min(0).max(9).optional(),agent:u.string().min(1).max(200).optional(),held:u.boolean().optional(),holdFor:u.string().refine(M,'such as "10m"').optional()}),$t=Dt.extend({idempotencyKey:vt.optional()}),Dr=u.strictObject({runs:u.array($t).min(1).max(At)}),pe=u.object({name:u.string(),version:u.int(),digest:u.string()}),Nt=u.object({runId:u.string(),created:u.boolean(),status:u.enum(S("run")),enqueueSeq:u.int(),workflow:pe,queue:u.string(),priority:u.int(),held:u.boolean()}),Ct=u.discriminatedUnion("outcome",[u.object({outcome:u.literal("admitted"),run:Nt}),u.object({outcome:u.literal("conflict"),idempotencyKey:u.string(),detail:u.string()})]),$r=u.object({runs:u.array(Ct)}),Nr=u.object({runId:u.string(),enqueueSeq:u.int(),released:u.boolean()}),Rt=u.object({reason:u.string(),at:w}),Qe=u.object({runId:u.string(),workflow:pe,status:u.enum(S("run")),queue:u.string(),priority:u.int(),agent:u.string().nullable(),idempotencyKey:u.string().nullable(),requestedBy:u.string(),enqueueSeq:u.int(),steps:u.int(),errorCode:u.string().nullable(),attention:Rt.nullable(),quarantine:Rt.nullable(),pausedAt:w.nullable(),deadlineAt:w.nullable(),createdAt:w,startedAt:w.nullable(),finishedAt:w.nullable()}),Ot=u.object({code:u.enum(Ue),name:u.string(),message:u.string(),stack:u.string().optional(),step:u.string().optional()}),Cr=Qe.extend({input:u.unknown(),output:u.unknown(),error:Ot.nullable()}),Or=u.object({runs:u.array(Qe),nextCursor:u.string().nullable()}),Tt=u.discriminatedUnion("kind",[u.object({kind:u.literal("admitted"),at:w}),u.object({kind:u.literal("delivery"),at:w,enqueueSeq:u.int(),cause:u.enum(Ke),status:u.enum(S("delivery")),dueAt:w}),u.object({kind:u.literal("published"),at:w,enqueueSeq:u.int(),publications:u.int()}),u.object({kind:u.literal("claimed"),at:w,enqueueSeq:u.int(),worker:u.string()}),u.object({kind:u.literal("step"),at:w,enqueueSeq:u.int(),ordinal:u.int(),name:u.string(),nth:u.int(),outcome:u.enum(["ok","error"]),tries:u.int(),startedAt:w}),u.object({kind:u.literal("worker_ended"),at:w,enqueueSeq:u.int(),worker:u.string(),how:u.string()}),u.object({kind:u.literal("settled"),at:w,enqueueSeq:u.int(),outcome:u.enum(Be)}),u.object({kind:u.literal("fenced"),at:w,enqueueSeq:u.int()}),u.object({kind:u.literal("finished"),at:w,status:u.enum(S("run")),errorCode:u.string().nullable()})]),Tr=u.object({runId:u.string(),status:u.enum(S("run")),entries:u.array(Tt)}),Pt=pe.extend({queue:u.string(),onWorkerLoss:u.enum(["resume","fail"]),inputSchema:u.unknown(),outputSchema:u.unknown()}),Pr=u.object({workflows:u.array(Pt)}),Lr=u.object({type:u.string(),title:u.string(),status:u.int(),detail:u.string(),fix:u.string().optional(),requestId:u.string(),errors:u.array(u.object({path:u.string(),message:u.string()})).optional()});var $n={};se($n,{DEFAULT_APPLICATION_ROLE:()=>st,DEFAULT_SCHEMA:()=>F,LedgerError:()=>x,createRoles:()=>Dn,executorOn:()=>ge,inCallersTransaction:()=>he,insertRunsIfKeyIsNew:()=>G,migrate:()=>An,migrationSql:()=>Rn,openLedger:()=>En,readRunsById:()=>ye,readRunsByKey:()=>W,rolesSql:()=>ut});var Mt=new Map,F="ghouls",Mr=/^[a-z_][a-z0-9_]{0,39}$/;function p(e,t){return jt({name:e,text:zt(e,t),writes:!1})}i(p,"readStatement");function g(e,t){return jt({name:e,text:zt(e,t),writes:!0})}i(g,"writeStatement");function jt(e){if(Mt.has(e.name))throw new TypeError(`two statements are called ${e.name}`);return Mt.set(e.name,e),e}i(jt,"listed");function zt(e,t){return`/* ${e} */
${t.trim()}`}i(zt,"tagged");function U(e,t){if(!Mr.test(e))throw new TypeError(`${t} "${e.slice(0,60)}" is not taken: use lower-case letters, digits and "_", at most 40`)}i(U,"assertIdentifier");function C(e,t){return U(t,"the schema name"),e.replace(/\bghouls\./g,`${t}.`)}i(C,"bindSchema");function _(e){let t=i((a,d)=>new TypeError(`column ${a} is ${typeof e[a]}, ${d} was expected`),"fail"),n=i(a=>{let d=e[a];if(typeof d!="string")throw t(a,"text");return d},"text"),r=i(a=>{let d=e[a],l=typeof d=="string"?Number(d):d;if(typeof l!="number"||!Number.isFinite(l))throw t(a,"a number");return l},"number"),o=i(a=>{let d=e[a];if(!(d instanceof Date))throw t(a,"a time");return d},"date"),s=i(a=>d=>e[d]===null?null:a(d),"orNull");return{text:n,textOrNull:s(n),number:r,numberOrNull:s(r),boolean:i(a=>{let d=e[a];if(typeof d!="boolean")throw t(a,"a boolean");return d},"boolean"),date:o,dateOrNull:s(o)}}i(_,"rows");var jr=g("runs.admit",`
with bound as materialized (
  select set_config('lock_timeout', $1::text, true) as lock_timeout
), request as materialized (
  select t.* from bound, unnest(
    $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::smallint[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::double precision[], $17::boolean[],
    $18::double precision[]
  ) with ordinality as t(tenant_id, run_id, idempotency_key, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, agent, requested_by, requested_roles, input_text, input_digest, deadline_ms, held, hold_ms, position)
  where bound.lock_timeout is not null
  order by t.tenant_id, t.idempotency_key, t.position
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
    workflow_version, workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq,
    input_text, input_digest, deadline_at, created_at)
  select q.tenant_id, q.run_id, q.run_id, q.idempotency_key, q.request_digest, q.workflow_name, q.workflow_version,
    q.workflow_digest, q.queue, q.priority, q.agent, q.requested_by,
    array(select jsonb_array_elements_text(q.requested_roles::jsonb)), 'QUEUED', 1, q.input_text, q.input_digest,
    ghouls.clock() + q.deadline_ms * interval '1 millisecond', ghouls.clock()
  from request q
  on conflict do nothing
  returning tenant_id, run_id, enqueue_seq, queue, priority
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, hold_expires_at,
    next_publication_at, created_at)
  select run.tenant_id, run.run_id, run.enqueue_seq, 'admitted', case when q.held then 'HELD' else 'PENDING' end,
    run.queue, run.priority, ghouls.clock(),
    case when q.held then ghouls.clock() + q.hold_ms * interval '1 millisecond' end,
    case when not q.held then ghouls.clock() + $19::double precision * interval '1 second' end,
    ghouls.clock()
  from run join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  returning run_id
)
select run_id from delivery`),Ft=`run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished`,zr=p("runs.by-key",`
select ${Ft}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`),Fr=p("runs.by-id",`
select ${Ft}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`);async function G(e,t,n){let r=i(s=>t.map(s),"column"),o=await e.run(jr,[String(n.lockTimeoutMs),r(s=>s.tenantId),r(s=>s.runId),r(s=>s.idempotencyKey),r(s=>s.requestDigest),r(s=>s.workflow.name),r(s=>s.workflow.version),r(s=>s.workflow.digest),r(s=>s.queue),r(s=>s.priority),r(s=>s.agent),r(s=>s.requestedBy),r(s=>JSON.stringify(s.requestedRoles)),r(s=>s.inputText),r(s=>s.inputDigest),r(s=>s.deadlineMs),r(s=>s.held),r(s=>s.holdMs),n.publisherGraceSeconds]);return new Set(o.map(s=>s.run_id))}i(G,"insertRunsIfKeyIsNew");async function W(e,t){return(await e.run(zr,[t.map(r=>r.tenantId),t.map(r=>r.idempotencyKey)])).map(Ut)}i(W,"readRunsByKey");async function ye(e,t){return(await e.run(Fr,[t.map(r=>r.tenantId),t.map(r=>r.runId)])).map(Ut)}i(ye,"readRunsById");function Ut(e){let t=_(e);return{tenantId:t.text("tenant_id"),runId:t.text("run_id"),idempotencyKey:t.textOrNull("idempotency_key"),requestDigest:t.text("request_digest"),workflow:{name:t.text("workflow_name"),version:t.number("workflow_version"),digest:t.text("workflow_digest")},queue:t.text("queue"),priority:t.number("priority"),status:t.text("status"),enqueueSeq:t.number("enqueue_seq"),held:t.boolean("held"),unpublished:t.boolean("unpublished")}}i(Ut,"admittedRun");var Ur=g("deliveries.release",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)
update ghouls.deliveries d
set status = 'PENDING', due_at = ghouls.clock(),
  next_publication_at = ghouls.clock() + $3::double precision * interval '1 second'
from r
where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq
  and r.status = 'QUEUED' and d.status = 'HELD'
returning d.run_id`);async function Gt(e,t,n){return(await e.run(Ur,[t.tenantId,t.runId,n])).length===1}i(Gt,"releaseDeliveryIfHeld");var Wr={retry:"ledger_unavailable",busy:"admission_busy",unavailable:"ledger_unavailable",unknown:"outcome_unknown",schema:"schema_outdated",defect:"internal"},Wt={retry:"Try again.",busy:"Try again: another transaction holds the same key.",unavailable:"Try again once PostgreSQL answers; check DATABASE_URL and the role's limits.",unknown:"Ask again under the same idempotency key: the answer tells whether it was committed.",schema:"Run `ghouls migrate` with the migrator's connection string."},x=class extends f{static{i(this,"LedgerError")}kind;sqlState;statement;constructor(t,n,r,o){super(Wr[t],`the ledger could not carry out ${n} (${t}${r?`, SQLSTATE ${r}`:""})`,{...Wt[t]===void 0?{}:{fix:Wt[t]},...t==="defect"||t==="schema"?{}:{retryAfterSeconds:2},cause:o}),this.name="LedgerError",this.kind=t,this.sqlState=r,this.statement=n}},Br=new Set(["40001","40P01"]),Kr=new Set(["25006","53000","53100","53200","53300","57014","25P03"]),Hr=new Set(["42P01","42703","42883","3F000"]);function O(e,t){let n=Jr(e);return n===void 0?{kind:t?"unknown":"unavailable",sqlState:n}:Br.has(n)?{kind:"retry",sqlState:n}:n==="55P03"?{kind:"busy",sqlState:n}:Kr.has(n)?{kind:"unavailable",sqlState:n}:n.startsWith("57P")||n.startsWith("08")?{kind:t?"unknown":"unavailable",sqlState:n}:Hr.has(n)?{kind:"schema",sqlState:n}:{kind:"defect",sqlState:n}}i(O,"classify");function Jr(e){if(typeof e!="object"||e===null||!("code"in e))return;let{code:t}=e;return typeof t=="string"&&/^[0-9A-Z]{5}$/.test(t)&&/\d/.test(t)?t:void 0}i(Jr,"sqlStateOf");var Vr=p("caller.state",`
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`),Qr=g("caller.restore","select set_config('lock_timeout', $1::text, true) as lock_timeout");function ge(e,t){return{run:i(async(n,r)=>{try{return(await e.query(C(n.text,t),[...r])).rows}catch(o){let{kind:s,sqlState:a}=O(o,!1);throw new x(s,n.name,a,o)}},"run")}}i(ge,"executorOn");async function he(e,t){let[n]=await e.run(Vr,[]),r=String(n?.isolation);if(r!=="read committed")throw new f("wrong_transaction",`an admission inside a ${r.toUpperCase()} transaction is refused`,{fix:"Use READ COMMITTED for the transaction that admits."});if(n?.begins_transaction===!0)throw new f("wrong_transaction","this connection is not inside a transaction",{fix:"Send BEGIN first, and COMMIT after your own statements; then publish the receipt."});let o=await t();return await e.run(Qr,[String(n?.lock_timeout)]),o}i(he,"inCallersTransaction");import Yr from"pg";var Xr=4,_e=class{static{i(this,"Database")}schema;#e;#n;#t;#r;#u=new Map;constructor(t){this.schema=t.schema??F,C("",this.schema),this.#n=t.preparedStatements??!0,this.#t=t.faults??$e,this.#r=t.chance??(()=>.5),this.#e=new Yr.Pool({connectionString:t.connectionString,max:t.maxConnections??2,connectionTimeoutMillis:t.connectTimeoutMs??5e3,query_timeout:t.answerTimeoutMs??2e4,idleTimeoutMillis:3e4,allowExitOnIdle:!0,application_name:t.applicationName??"ghouls"}),this.#e.on("connect",n=>n.on("error",()=>{})),this.#e.on("error",()=>{})}async run(t,n){for(let r=1;;r+=1)try{return await this.#a(t,n)}catch(o){if(!(o instanceof x)||!Zr(o)||r>=eo(o))throw o;await to(25*4**(r-1)*(.5+this.#r()))}}async#a(t,n){let r=await this.#d(t.name),o=!0;try{let s=await this.#s(r,t,n);return o=!1,s}catch(s){throw o=!(s instanceof x)||s.sqlState===void 0,s}finally{r.release(o)}}async#d(t){try{return await this.#e.connect()}catch(n){throw new x("unavailable",t,O(n,!1).sqlState,n)}}async#s(t,n,r){try{await this.#t("ledger.before-statement",n.name);let o=await t.query({text:this.#i(n),values:[...r],...this.#n?{name:n.name}:{}});return await this.#t("ledger.after-statement",n.name),o.rows}catch(o){let{kind:s,sqlState:a}=O(o,n.writes);throw new x(s,n.name,a,o)}}#i(t){let n=this.#u.get(t.name);return n===void 0&&(n=C(t.text,this.schema),this.#u.set(t.name,n)),n}async transaction(t,n){let r=await this.#d(t),o=!0;try{await this.#f(r,t);let s=await n({run:i((a,d)=>this.#s(r,a,d),"run")});return await this.#l(r,t),o=!1,s}catch(s){throw o=s instanceof x&&s.sqlState===void 0||await r.query("rollback").then(()=>!1,()=>!0),s}finally{r.release(o)}}async#f(t,n){try{await t.query("begin isolation level read committed")}catch(r){let{kind:o,sqlState:s}=O(r,!1);throw new x(o,`${n}: begin`,s,r)}}async#l(t,n){let r;try{await this.#t("ledger.before-commit",n),r=(await t.query("commit")).command,await this.#t("ledger.after-commit",n)}catch(o){let{kind:s,sqlState:a}=O(o,!0);throw new x(s,`${n}: commit`,a,o)}if(r!=="COMMIT")throw new x("defect",`${n}: commit answered ${r}`,void 0,void 0)}async close(){await this.#e.end()}};function Zr(e){return e.kind!=="defect"&&e.kind!=="schema"&&e.kind!=="busy"}i(Zr,"isRepeatable");function eo(e){return e.cause instanceof Error&&/read timeout/i.test(e.cause.message)||e.sqlState==="57014"?2:Xr}i(eo,"triesOf");function to(e){return new Promise(t=>setTimeout(t,e))}i(to,"delay");var Bt={number:1,name:"runs",sql:`
create function ghouls.clock() returns timestamptz
  language sql stable parallel safe
  as 'select statement_timestamp()';
comment on function ghouls.clock() is 'The only time that the protocol knows. Tests replace it.';

create table ghouls.workflows (
  name text not null,
  version integer not null,
  digest text not null,
  build text not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (name, version, digest)
);
comment on table ghouls.workflows is 'Which builds have which workflows. Belongs to the deployment, so it has no tenant.';

create table ghouls.runs (
  tenant_id text not null check (tenant_id <> ''),
  run_id uuid not null,
  first_run_id uuid not null,
  idempotency_key text,
  request_digest text not null,
  workflow_name text not null,
  workflow_version integer not null,
  workflow_digest text not null,
  queue text not null,
  priority smallint not null check (priority between 0 and 9),
  agent text,
  requested_by text not null,
  requested_roles text[] not null,
  status text not null check (status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER', 'COMPLETING', 'FAILING', 'CANCELLING',
    'DONE', 'FAILED', 'CANCELLED')),
  enqueue_seq integer not null check (enqueue_seq >= 1),
  journal_length integer not null default 0 check (journal_length >= 0),
  journal_bytes bigint not null default 0 check (journal_bytes >= 0),
  input_text text,
  input_digest text not null,
  output_text text,
  output_digest text,
  error_code text,
  error_text text,
  error_digest text,
  attention_reason text,
  attention_at timestamptz,
  quarantine_reason text,
  quarantined_at timestamptz,
  paused_at timestamptz,
  deadline_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, run_id),
  constraint runs_run_id_key unique (run_id),
  constraint runs_idempotency_key unique (tenant_id, idempotency_key),
  constraint runs_finished check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (finished_at is not null)),
  constraint runs_started check (status in ('QUEUED', 'FAILING', 'FAILED', 'CANCELLING', 'CANCELLED')
    or started_at is not null),
  constraint runs_failed check ((status in ('FAILING', 'FAILED')) = (error_code is not null)),
  constraint runs_error check (num_nulls(error_code, error_digest) <> 1 and (error_text is null or error_code is not null)),
  constraint runs_output check ((output_text is null or output_digest is not null)
    and (output_digest is null or status in ('COMPLETING', 'DONE'))),
  constraint runs_input check (input_text is not null or finished_at is not null),
  constraint runs_attention check (num_nulls(attention_reason, attention_at) <> 1),
  constraint runs_quarantine check (num_nulls(quarantine_reason, quarantined_at) <> 1)
);
create index runs_newest on ghouls.runs (tenant_id, created_at desc, run_id desc);
create index runs_by_status on ghouls.runs (tenant_id, status, created_at desc, run_id desc);
create index runs_by_workflow on ghouls.runs (tenant_id, workflow_name, created_at desc, run_id desc);
create index runs_with_attention on ghouls.runs (tenant_id, created_at desc, run_id desc)
  where attention_at is not null or quarantined_at is not null;

create table ghouls.deliveries (
  tenant_id text not null,
  run_id uuid not null,
  seq integer not null check (seq >= 1),
  cause text not null check (cause in ('admitted', 'resumed', 'continued', 'recovered', 'contain')),
  status text not null check (status in ('HELD', 'PENDING', 'CLAIMED', 'SETTLED', 'FENCED')),
  outcome text check (outcome in ('done', 'failed', 'parked', 'continued', 'lost', 'given_back',
    'refused')),
  queue text not null,
  priority smallint not null,
  checkpoint_generation integer,
  due_at timestamptz not null,
  hold_expires_at timestamptz,
  publications integer not null default 0,
  publication_failures integer not null default 0,
  publication_error text,
  published_at timestamptz,
  next_publication_at timestamptz,
  token uuid,
  claimed_by text,
  claimed_at timestamptz,
  lease_until timestamptz,
  acts_until timestamptz,
  worker_ended_at timestamptz,
  worker_end text,
  created_at timestamptz not null,
  settled_at timestamptz,
  fenced_at timestamptz,
  primary key (tenant_id, run_id, seq),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint deliveries_held check (status <> 'HELD' or hold_expires_at is not null),
  constraint deliveries_unclaimed check (status not in ('HELD', 'PENDING') or token is null),
  constraint deliveries_claimed check (num_nulls(token, claimed_by, claimed_at, lease_until) in (0, 4)
    and (status not in ('CLAIMED', 'SETTLED') or token is not null)),
  constraint deliveries_settled check ((status = 'SETTLED') = (settled_at is not null)
    and (settled_at is null) = (outcome is null)),
  constraint deliveries_fenced check ((status = 'FENCED') = (fenced_at is not null)),
  constraint deliveries_worker_end check (num_nulls(worker_ended_at, worker_end) <> 1)
);
create unique index deliveries_one_open on ghouls.deliveries (tenant_id, run_id)
  where status in ('HELD', 'PENDING', 'CLAIMED');
create index deliveries_publishable on ghouls.deliveries (priority, next_publication_at)
  where status = 'PENDING';
create index deliveries_by_worker on ghouls.deliveries (claimed_by) where status = 'CLAIMED';
create index deliveries_by_lease on ghouls.deliveries (lease_until) where status = 'CLAIMED';

create table ghouls.journal (
  tenant_id text not null,
  run_id uuid not null,
  ordinal integer not null check (ordinal >= 1),
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  outcome text not null check (outcome in ('ok', 'error')),
  result_text text,
  result_digest text,
  tries integer not null,
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  completed_at timestamptz not null,
  primary key (tenant_id, run_id, ordinal),
  constraint journal_call unique (tenant_id, run_id, epoch, scope, kind, name, nth),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint journal_result check (result_text is null or result_digest is not null)
);

create function ghouls.keep_terminal_run() returns trigger
  language plpgsql
  as $function$
declare
  allowed ghouls.runs%rowtype := new;
begin
  allowed.attention_reason := old.attention_reason;
  allowed.attention_at := old.attention_at;
  allowed.quarantine_reason := old.quarantine_reason;
  allowed.quarantined_at := old.quarantined_at;
  if new.input_text is null then allowed.input_text := old.input_text; end if;
  if new.output_text is null then allowed.output_text := old.output_text; end if;
  if new.error_text is null then allowed.error_text := old.error_text; end if;
  if allowed is distinct from old then
    raise exception 'a terminal run does not change' using errcode = 'GH001';
  end if;
  return new;
end
$function$;
create trigger keep_terminal_run before update on ghouls.runs
  for each row when (old.status in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.keep_terminal_run();
`};var B=[Bt];var Xe=N(te("run")),Ze=N(He),v=i((e,t)=>({check:e,statement:p(`doctor.${e.replaceAll(" ","-")}`,`${t}
limit 100`)}),"check"),no=[v("open deliveries agree with their run",`
select d.tenant_id, d.run_id, d.seq, d.status as delivery_status, d.cause, run.status as run_status
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in (${Ze}) and (d.seq <> run.enqueue_seq or not (
  (d.status in ('HELD', 'PENDING') and run.status = 'QUEUED')
  or (d.status = 'CLAIMED' and run.status in ('RUNNING', 'AWAITING_HARDWARE'))
  or (d.cause = 'contain' and run.status in ('COMPLETING', 'FAILING', 'CANCELLING'))))`),v("working runs have an open delivery",`
select run.tenant_id, run.run_id, run.status, run.enqueue_seq
from ghouls.runs run
where run.status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq and d.status in (${Ze}))`),v("terminal runs have nothing open",`
select run.tenant_id, run.run_id, run.status, d.seq
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in (${Ze}) and run.status in (${Xe})`),v("pending deliveries have a next publication",`
select d.tenant_id, d.run_id, d.seq, d.due_at
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'PENDING' and d.next_publication_at is null and run.paused_at is null and run.quarantined_at is null`),v("journals are as long as their runs say",`
select run.tenant_id, run.run_id, run.status, run.journal_length, count(j.ordinal) as entries
from ghouls.runs run
left join ghouls.journal j on j.tenant_id = run.tenant_id and j.run_id = run.run_id
where run.status not in (${Xe})
group by run.tenant_id, run.run_id
having count(j.ordinal) <> run.journal_length`),v("no claim outlives its worker",`
select d.tenant_id, d.run_id, d.seq, d.claimed_by, d.claimed_at, d.worker_ended_at, d.worker_end, d.acts_until,
  case when d.worker_ended_at is not null then 'its worker has ended' else 'its invocation must be over' end as why
from ghouls.deliveries d
where d.status = 'CLAIMED' and (d.worker_ended_at is not null or d.acts_until < ghouls.clock())`),v("no run is quarantined",`
select run.tenant_id, run.run_id, run.status, run.quarantine_reason, run.quarantined_at
from ghouls.runs run
where run.quarantined_at is not null`),v("no open run asks for a person",`
select run.tenant_id, run.run_id, run.status, run.attention_reason, run.attention_at
from ghouls.runs run
where run.attention_at is not null and run.status not in (${Xe})`)],ro=p("doctor.schema-version","select coalesce(max(number), 0) as version from ghouls.migrations");async function et(e){let[t]=await e.run(ro,[]);return{applied:Number(t?.version??0),known:B.at(-1)?.number??0}}i(et,"readSchemaVersion");async function Kt(e){let t=await et(e),n=[{check:"the schema is up to date",ok:t.applied===t.known,rows:t.applied===t.known?[]:[t]}];for(let{check:r,statement:o}of no){let s=await e.run(o,[]);n.push({check:r,ok:s.length===0,rows:s})}return n}i(Kt,"examine");var oo=`r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;function ne(e){return`${oo}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${N(e)}) and r.quarantined_at is null
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`}i(ne,"heldBy");var re=["RUNNING","AWAITING_HARDWARE"];function tt(e,t){return Jt(e,fe("run",t))}i(tt,"runMayBecome");function Ht(e,t){return Jt(e,fe("delivery",t))}i(Ht,"deliveryMayBecome");function Jt(e,t){return t.length===0?"false":`${e} in (${N(t)})`}i(Jt,"oneOf");var Qt="d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at",nt=`run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at,
  run.deadline_at`,io=g("deliveries.claim",`
with wanted as materialized (
  select q.run_id, q.seq, q.token from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
), r as materialized (
  select run.tenant_id, run.run_id, run.status, run.paused_at, run.quarantined_at
  from ghouls.runs run
  where run.run_id = any($1::uuid[])
  order by run.run_id
  for update
), d as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.token
  from r
  join wanted on wanted.run_id = r.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = wanted.seq
  where (select count(*) from r) >= 0 and r.status = 'QUEUED'
    and r.paused_at is null and r.quarantined_at is null
    and ${Ht("d.status","CLAIMED")} and d.due_at <= ghouls.clock()
  order by d.run_id, d.seq
  for update of d
), claimed as (
  update ghouls.deliveries t
  set status = 'CLAIMED', token = d.token, claimed_by = $4, claimed_at = ghouls.clock(),
    lease_until = ghouls.clock() + $5::double precision * interval '1 second',
    acts_until = ghouls.clock() + $6::double precision * interval '1 second'
  from d
  where t.tenant_id = d.tenant_id and t.run_id = d.run_id and t.seq = d.seq
  returning t.tenant_id, t.run_id, t.seq, t.token, t.cause, t.claimed_at
), running as (
  update ghouls.runs run
  set status = 'RUNNING', started_at = coalesce(run.started_at, claimed.claimed_at)
  from claimed
  where run.tenant_id = claimed.tenant_id and run.run_id = claimed.run_id
  returning run.tenant_id, run.run_id, ${nt}
)
select ${Qt}, ${nt}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`),so=p("deliveries.claimed-by-token",`
select ${Qt}, ${nt}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`),ao=p("deliveries.unclaimed",`
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  run.paused_at is not null as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`);async function Yt(e,t,n){let r=Zt(t),o=t.map(d=>d.token),s=await e.run(io,[...r,o,n.worker,n.leaseSeconds,n.actsForSeconds]);return s.length===t.length?s.map(Vt):(await e.run(so,[...r,o])).map(Vt)}i(Yt,"claimDeliveriesIfDue");async function Xt(e,t){let n=await e.run(ao,Zt(t));return new Map(n.map(r=>{let o=_(r);return[`${o.text("run_id")}:${o.number("seq")}`,{runStatus:o.text("run_status"),deliveryStatus:o.text("delivery_status"),cause:o.text("cause"),currentSeq:o.number("enqueue_seq"),seq:o.number("seq"),paused:o.boolean("paused"),quarantined:o.boolean("quarantined"),dueInSeconds:o.number("due_in"),leaseEndsInSeconds:o.numberOrNull("lease_ends_in")}]}))}i(Xt,"readUnclaimed");function Zt(e){return[e.map(t=>t.runId),e.map(t=>t.enqueueSeq)]}i(Zt,"arrays");function Vt(e){let t=_(e);return{tenantId:t.text("tenant_id"),runId:t.text("run_id"),seq:t.number("seq"),token:t.text("token"),cause:t.text("cause"),workflow:{name:t.text("workflow_name"),version:t.number("workflow_version"),digest:t.text("workflow_digest")},firstRunId:t.text("first_run_id"),queue:t.text("queue"),agent:t.textOrNull("agent"),requestedBy:t.text("requested_by"),inputText:t.text("input_text"),inputDigest:t.text("input_digest"),journalLength:t.number("journal_length"),journalBytes:t.number("journal_bytes"),admittedAt:t.date("created_at"),deadlineAt:t.dateOrNull("deadline_at"),claimedAt:t.date("claimed_at")}}i(Vt,"claimedRun");var uo=g("deliveries.record-worker-end",`
with lost as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set worker_ended_at = ghouls.clock(), worker_end = $2
from lost
where d.tenant_id = lost.tenant_id and d.run_id = lost.run_id and d.seq = lost.seq
returning d.run_id`);async function en(e,t){return(await e.run(uo,[t.worker,t.how])).length}i(en,"recordWorkerEnd");var co=g("journal.append",`
with ${ne(re)}, entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text,
    result_digest, tries, seq, token, started_at, completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, held.seq, held.token,
    date_trunc('milliseconds', ghouls.clock()) - $14::double precision * interval '1 millisecond',
    date_trunc('milliseconds', ghouls.clock())
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $15::bigint
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id`),mo=p("journal.entry-of-call",`
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_digest
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`),fo=p("journal.read",`
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2
order by j.ordinal`);async function nn(e,t,n){let r=[n.epoch,n.scope,n.kind,n.name,n.nth],[o]=await e.run(co,[t.tenantId,t.runId,t.seq,t.token,...r,n.outcome,n.resultText,n.resultDigest,n.tries,n.tookMs,n.resultBytes]);if(o!==void 0)return tn(o);let[s]=await e.run(mo,[t.tenantId,t.runId,...r]);return s!==void 0&&s.token===t.token&&s.outcome===n.outcome&&s.result_digest===n.resultDigest?tn(s):null}i(nn,"appendEntryIfClaimed");function tn(e){let t=_(e);return{ordinal:t.number("ordinal"),completedAt:t.date("completed_at")}}i(tn,"appended");async function rn(e,t){return(await e.run(fo,[t.tenantId,t.runId])).map(r=>{let o=_(r);return{ordinal:o.number("ordinal"),epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),outcome:o.text("outcome"),resultText:o.textOrNull("result_text"),resultDigest:o.textOrNull("result_digest"),tries:o.number("tries"),seq:o.number("seq"),token:o.text("token"),startedAt:o.date("started_at"),completedAt:o.date("completed_at")}})}i(rn,"readJournal");var yo=p("deliveries.due-publications",`
select due.tenant_id, due.run_id, due.seq, due.queue, due.publications
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at <= ghouls.clock()
    and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null
  order by d.next_publication_at
  limit $1
) as due
order by due.priority desc, due.next_publication_at
limit $1`),go=g("deliveries.mark-published",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d skip locked
)
update ghouls.deliveries d
set publications = d.publications + 1, publication_failures = 0, publication_error = null,
  published_at = coalesce(d.published_at, ghouls.clock()),
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`),ho=g("deliveries.mark-publication-failed",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq, q.reason
  from unnest($1::text[], $2::uuid[], $3::integer[], $5::text[]) as q(tenant_id, run_id, seq, reason)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d skip locked
)
update ghouls.deliveries d
set publication_failures = d.publication_failures + 1, publication_error = marked.reason,
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publication_failures + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq and d.status = 'PENDING'
returning d.run_id, d.publication_failures`);async function on(e,t){return(await e.run(yo,[t])).map(r=>{let o=_(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),enqueueSeq:o.number("seq"),queue:o.text("queue"),publications:o.number("publications")}})}i(on,"readDuePublications");async function sn(e,t,n=ce.afterSuccess){return t.length===0?0:(await e.run(go,[...un(t),n])).length}i(sn,"markPublished");async function an(e,t,n=ce.afterFailure){if(t.length===0)return 0;let r=t.map(s=>s.publication),o=t.map(s=>s.reason.slice(0,500).replaceAll("\0",""));return(await e.run(ho,[...un(r),n,o])).length}i(an,"markPublicationFailed");function un(e){return[e.map(t=>t.tenantId),e.map(t=>t.runId),e.map(t=>t.enqueueSeq)]}i(un,"arrays");var cn=`run.tenant_id, run.run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.deadline_at,
  run.created_at, run.started_at, run.finished_at`,wo=p("runs.get",`
select ${cn}, run.input_text, run.output_text, run.error_text
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),mn=`
where run.tenant_id = $1
  and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)`,ot=`
order by run.created_at desc, run.run_id desc
limit $4`,fn=`${cn}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`,rt=i((e,t)=>p(`runs.page-${e}`,`
select ${fn}
from ghouls.runs run${mn}
  ${t}${ot}`),"page"),dn=i((e,t)=>p(`runs.page-${e}`,`
select ${fn}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${mn}
  and run.status = wanted.status ${t}${ot}
) as run${ot}`),"pageOfStatuses"),oe={all:rt("all",""),status:dn("status",""),workflow:rt("workflow","and run.workflow_name = $5"),both:dn("status-workflow","and run.workflow_name = $6"),attention:rt("attention","and (run.attention_at is not null or run.quarantined_at is not null)")},xo=p("deliveries.of-run",`
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`);async function pn(e,t){let[n]=await e.run(wo,[t.tenantId,t.runId]);if(n===void 0)return null;let r=_(n);return{...hn(r),inputText:r.textOrNull("input_text"),outputText:r.textOrNull("output_text"),errorText:r.textOrNull("error_text")}}i(pn,"readRun");async function yn(e,t,n,r){let[o,s]=r.cursor===void 0?ko:So(r.cursor),[a,d]=bo(n),l=await e.run(a,[t,o,s,r.limit+1,...d]),c=l.slice(0,r.limit),m=c.at(-1);return{runs:c.map(y=>hn(_(y))),nextCursor:l.length>r.limit&&m!==void 0?Eo(m):null}}i(yn,"readRunPage");function bo(e){let{status:t,workflow:n,attention:r}=e;if(r===!0){if(t!==void 0||n!==void 0)throw new f("invalid_request","the attention filter does not combine with others yet",{fix:"Ask with attention alone, and choose among what comes back."});return[oe.attention,[]]}return t!==void 0&&n!==void 0?[oe.both,[t,n]]:t!==void 0?[oe.status,[t]]:n!==void 0?[oe.workflow,[n]]:[oe.all,[]]}i(bo,"choose");var ko=["100000000000000000","ffffffff-ffff-ffff-ffff-ffffffffffff"];function Eo(e){return`${_(e).text("created_micros")}.${_(e).text("run_id")}`}i(Eo,"cursorOf");function So(e){let t=/^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(e);if(t===null)throw new f("invalid_request","this cursor is not one of ours",{fix:"Pass nextCursor of the page before unchanged, or leave it out for the first page."});return[t[1],t[2]]}i(So,"parseCursor");async function gn(e,t){return(await e.run(xo,[t.tenantId,t.runId])).map(r=>{let o=_(r);return{seq:o.number("seq"),cause:o.text("cause"),status:o.text("status"),outcome:o.textOrNull("outcome"),dueAt:o.date("due_at"),createdAt:o.date("created_at"),publishedAt:o.dateOrNull("published_at"),publications:o.number("publications"),claimedAt:o.dateOrNull("claimed_at"),claimedBy:o.textOrNull("claimed_by"),leaseUntil:o.dateOrNull("lease_until"),workerEndedAt:o.dateOrNull("worker_ended_at"),workerEnd:o.textOrNull("worker_end"),settledAt:o.dateOrNull("settled_at"),fencedAt:o.dateOrNull("fenced_at"),holdExpiresAt:o.dateOrNull("hold_expires_at")}})}i(gn,"readDeliveries");function hn(e){return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),idempotencyKey:e.textOrNull("idempotency_key"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},queue:e.text("queue"),priority:e.number("priority"),agent:e.textOrNull("agent"),requestedBy:e.text("requested_by"),status:e.text("status"),enqueueSeq:e.number("enqueue_seq"),journalLength:e.number("journal_length"),errorCode:e.textOrNull("error_code"),attention:ln(e,"attention_reason","attention_at"),quarantine:ln(e,"quarantine_reason","quarantined_at"),pausedAt:e.dateOrNull("paused_at"),deadlineAt:e.dateOrNull("deadline_at"),createdAt:e.date("created_at"),startedAt:e.dateOrNull("started_at"),finishedAt:e.dateOrNull("finished_at")}}i(hn,"runOf");function ln(e,t,n){let r=e.textOrNull(t),o=e.dateOrNull(n);return r===null||o===null?null:{reason:r,at:o}}i(ln,"flag");var qo=g("deliveries.settle",`
with ${ne(re)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${tt("r.status","DONE")}) or ($5 = 'FAILED' and ${tt("r.status","FAILED")}))
  returning t.tenant_id, t.run_id, t.settled_at
)
update ghouls.runs run
set status = $5, finished_at = settled.settled_at, output_text = $7, output_digest = $8, error_code = $9,
  error_text = $10, error_digest = $11
from settled
where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
returning run.run_id`),Ro=p("deliveries.state-of-claim",`
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`),Ao=g("runs.quarantine",`
with ${ne(re)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.checkpoint_generation, t.settled_at
), queued as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, quarantine_reason = $5, quarantined_at = settled.settled_at
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select queued.tenant_id, queued.run_id, queued.enqueue_seq, 'continued', 'PENDING', queued.queue, queued.priority,
  settled.checkpoint_generation, settled.settled_at, null, settled.settled_at
from queued join settled on settled.tenant_id = queued.tenant_id and settled.run_id = queued.run_id
returning run_id`),vo=g("runs.raise-attention",`
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
returning run.run_id`);async function _n(e,t,n){let r=n.status==="DONE"?"done":"failed",o=n.status==="DONE"?[n.outputText,n.outputDigest,null,null,null]:[null,null,n.errorCode,n.errorText,n.errorDigest];return(await e.run(qo,[...it(t),n.status,r,...o])).length===1?{settled:!0}:bn(e,t,r)}i(_n,"settleDeliveryIfClaimed");async function wn(e,t,n){return(await e.run(Ao,[...it(t),n])).length===1?!0:(await bn(e,t,"given_back")).settled}i(wn,"quarantineRunIfClaimed");async function xn(e,t,n){return(await e.run(vo,[t.tenantId,t.runId,n])).length===1}i(xn,"raiseAttention");async function bn(e,t,n){let[r]=await e.run(Ro,it(t));if(r===void 0)return{settled:!1,deliveryStatus:null,runStatus:null};let o=_(r);return r.mine===!0&&o.textOrNull("outcome")===n?{settled:!0}:{settled:!1,deliveryStatus:o.text("delivery_status"),runStatus:o.text("run_status")}}i(bn,"readClaim");function it(e){return[e.tenantId,e.runId,e.seq,e.token]}i(it,"keyOf");var $o=g("workflows.record",`
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`);async function kn(e,t,n){await e.run($o,[t.map(r=>r.name),t.map(r=>r.version),t.map(r=>r.digest),n])}i(kn,"recordWorkflows");function h(e,t){return((...n)=>t(e,...n))}i(h,"bind");function En(e){let t=new _e(e);return{schema:t.schema,runs:{admit:h(t,G),byKey:h(t,W),byId:h(t,ye),get:h(t,pn),page:h(t,yn),raiseAttention:h(t,xn),quarantineIfClaimed:h(t,wn)},deliveries:{releaseIfHeld:h(t,Gt),claimIfDue:h(t,Yt),unclaimed:h(t,Xt),settleIfClaimed:h(t,_n),duePublications:h(t,on),markPublished:h(t,sn),markPublicationFailed:h(t,an),recordWorkerEnd:h(t,en),ofRun:h(t,gn)},journal:{appendIfClaimed:h(t,nn),read:h(t,rn)},workflows:{record:h(t,kn)},doctor:i(()=>Kt(t),"doctor"),schemaVersion:i(()=>et(t),"schemaVersion"),transaction:t.transaction.bind(t),close:i(()=>t.close(),"close")}}i(En,"openLedger");import Co from"pg";var st="ghouls_app";function Sn(e,t){return`
grant usage on schema ${e} to ${t};
grant select on ${e}.migrations to ${t};
grant select, insert, update on ${e}.workflows to ${t};
grant select, insert, update on ${e}.runs to ${t};
grant select, insert, update on ${e}.deliveries to ${t};
grant select, insert on ${e}.journal to ${t};
`}i(Sn,"grantsSql");function In(e){return`
do $$ begin
  if not exists (select from pg_namespace where nspname = '${e}') then create schema ${e}; end if;
end $$;
create table if not exists ${e}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`}i(In,"prologueSql");function qn(e,t){return`${C(e.sql,t)}
insert into ${t}.migrations (number, name) values (${e.number}, '${e.name}');
`}i(qn,"stepSql");function Rn(e={}){let{schema:t,role:n}=vn(e);return["begin;",In(t).trim(),...B.map(r=>`-- ${r.number} ${r.name}
${qn(r,t).trim()}`),Sn(t,n).trim(),"commit;",""].join(`

`)}i(Rn,"migrationSql");async function An(e){let{schema:t,role:n}=vn(e),r=new Co.Client({connectionString:e.connectionString,application_name:"ghouls-migrate"});r.on("error",()=>{}),await r.connect();try{await r.query("begin"),await r.query("select pg_advisory_xact_lock(hashtextextended($1, 0))",[`ghouls-migrate:${t}`]),await r.query(In(t));let s=(await r.query(`select number from ${t}.migrations order by number`)).rows.at(-1)?.number??0,a=B.at(-1)?.number??0;if(s>a)throw new f("configuration_invalid",`the schema is at migration ${s}, this code knows ${a}`,{fix:"Run the newer version of ghouls."});let d=B.filter(c=>c.number>s);for(let c of d)await r.query(qn(c,t));await r.query(Sn(t,n));let l=await r.query("commit");if(l.command!=="COMMIT")throw new Error(`the migration's COMMIT answered ${l.command}`);return{applied:d.map(({number:c,name:m})=>({number:c,name:m})),version:a}}catch(o){throw Oo(o,n)}finally{await r.end()}}i(An,"migrate");function vn(e){let t=e.schema??F,n=e.applicationRole??st;return U(t,"the schema name"),U(n,"the application's role"),{schema:t,role:n}}i(vn,"named");function Oo(e,t){let n=typeof e=="object"&&e!==null&&"code"in e?e.code:void 0;return n==="42501"?new f("configuration_invalid","this role may not change the schema",{fix:"Give the migrator's connection string: the application's role owns nothing and has no DDL.",cause:e}):n==="42704"?new f("configuration_invalid",`the application's role "${t}" does not exist`,{fix:`Create it (create role ${t} login), or name yours with --app-role.`,cause:e}):e}i(Oo,"readable");import at from"pg";var To={statement_timeout:"15s",lock_timeout:"5s",idle_in_transaction_session_timeout:"2s"};function ut(e,t){let{schema:n,migrator:r,application:o}=e;for(let[a,d]of[["the schema name",n],["the migrator's role",r.name],["the application's role",o.name]])U(d,a);let s=i(({name:a,password:d})=>[`do $$ begin if not exists (select from pg_roles where rolname = '${a}') then create role ${a} login; end if; end $$`,`do $$ begin if exists (select from pg_roles where rolname = '${a}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${a} nosuperuser nocreatedb nocreaterole; end if; end $$`,`alter role ${a} login password ${at.escapeLiteral(d)}`],"role");return[...s(r),...s(o),...Object.entries(To).map(([a,d])=>`alter role ${o.name} set ${a} = '${d}'`),`do $$ begin if not pg_has_role('${r.name}', 'usage') then grant ${r.name} to current_user; end if; end $$`,`create schema if not exists ${n} authorization ${r.name}`,`grant connect on database ${at.escapeIdentifier(t)} to ${r.name}, ${o.name}`]}i(ut,"rolesSql");async function Dn(e,t){let n=new at.Client({connectionString:e});n.on("error",()=>{}),await n.connect();try{let r=(await n.query("select current_database() as name")).rows[0]?.name??"";for(let o of ut(t,r))await n.query(o)}finally{await n.end()}}i(Dn,"createRoles");var er={};se(er,{DEFAULT_EXECUTION_SETTINGS:()=>Tn,Registry:()=>qe,createAdmission:()=>On,createReads:()=>Qn,reconcile:()=>Zn,work:()=>Vn});function Nn(e,t){let n=[],r=!1,o=i(async()=>{for(r=!0;n.length>0;){let s=n.slice(0,e);n=n.slice(e);try{let a=await t(s.map(d=>d.item));s.forEach((d,l)=>d.resolve(a[l]))}catch(a){for(let d of s)d.reject(a)}}r=!1},"drain");return s=>new Promise((a,d)=>{n.push({item:s,resolve:a,reject:d}),r||(r=!0,queueMicrotask(()=>{o()}))})}i(Nn,"grouped");var Po=100,we=class{static{i(this,"Publisher")}#e;#n;constructor(t){this.#e=t,this.#n=Nn(Po,n=>this.#t(n))}publish(t){return this.#n(t)}async#t(t){let{queue:n,log:r,faults:o}=this.#e;try{let{confirmed:s,failed:a}=await n.publish(t);for(let{publication:l,reason:c}of a)r.warn("a delivery could not be published; the relay will",{runId:l.runId,reason:c});await o("admission.after-publish",`${s.length} confirmed`),await this.#r(s,a);let d=new Set(s.map(({runId:l,enqueueSeq:c})=>`${l}:${c}`));return t.map(({runId:l,enqueueSeq:c})=>d.has(`${l}:${c}`)?"published":"failed")}catch(s){return r.warn("publications failed; the relay repeats them",{count:t.length,error:String(s).slice(0,200)}),t.map(()=>"failed")}}async#r(t,n){let{ledger:r,log:o}=this.#e;try{await r.deliveries.markPublished(t),await r.deliveries.markPublicationFailed(n)}catch(s){o.warn("publications could not be marked",{count:t.length,error:s.name})}}};var Lo=5,Mo="1h";async function xe(e,t,n){let{request:r}=n,o=Buffer.byteLength(n.inputText);if(o>Y)throw new f("too_large",`the input is ${o} bytes of JSON, the limit is ${Y}`,{fix:"Keep the material elsewhere and send a reference."});let s=JSON.parse(n.inputText),a=r.workflow===void 0?jo(e.route,{input:s,...r.agent===void 0?{}:{agent:r.agent}}):void 0,d=e.registry.choose(r.workflow??a.workflow,r.version);await Uo(d,s);let l=e.ids.next(),c=await e.codec.encode(n.inputText,{tenantId:t.tenantId,runId:l,kind:"input"});return{tenantId:t.tenantId,runId:l,idempotencyKey:n.idempotencyKey??null,requestDigest:await(e.codec.digest?.(n.canonicalRequest)??E(n.canonicalRequest)),workflow:{name:d.definition.name,version:d.definition.version,digest:d.digest},queue:zo(e.queues,r.queue??a?.queue??d.definition.queue??We),priority:Fo(r.priority??a?.priority??Lo),agent:r.agent??null,requestedBy:t.subject,requestedRoles:t.roles,inputText:c,inputDigest:E(c),deadlineMs:d.definition.deadlineMs??null,held:r.held??!1,holdMs:A(r.holdFor??Mo)}}i(xe,"prepare");function jo(e,t){let n=e?.(t);if(n===void 0)throw new f("invalid_request","the request names no workflow and the route chose none",{issues:[{path:"/workflow",message:"is missing"}],fix:"Name a workflow, or let `route` in the configuration choose one."});return n}i(jo,"routeOf");function zo(e,t){if(!e.includes(t))throw new f("unknown_queue",`there is no queue "${t}"`,{fix:`Configured are: ${e.join(", ")}.`});return t}i(zo,"queueOf");function Fo(e){if(!Number.isInteger(e)||e<0||e>9)throw new f("invalid_request",`a priority of ${e} is not taken`,{issues:[{path:"/priority",message:"must be a whole number from 0 to 9"}],fix:"Give a whole number from 0 to 9; 9 goes first."});return e}i(Fo,"priorityOf");async function Uo(e,t){let n=await Go(e,t);if(n.length!==0)throw new f("input_invalid",`the input does not fit workflow "${e.definition.name}"`,{issues:n,fix:"Send an input of the workflow's schema; GET /v1/workflows shows it."})}i(Uo,"checkInput");async function Go(e,t){try{let n=await e.definition.input.safeParseAsync(t);return n.success?[]:n.error.issues.slice(0,50).map(r=>({path:["","input",...r.path.map(String)].join("/"),message:r.message.slice(0,500)}))}catch(n){return[{path:"/input",message:`the workflow's schema threw: ${String(n).slice(0,200)}`}]}}i(Go,"issuesOf");function On(e){let{ledger:t}=e,n=new we(e),r={lockTimeoutMs:e.lockTimeoutMs??2e3,publisherGraceSeconds:e.publisherGraceSeconds??15},o=i(async a=>{a.unpublished&&await n.publish(a)},"publishIfUnpublished"),s=i(async a=>{let d=await t.runs.admit(a,r);await e.faults("admission.after-commit",`${d.size} created`);let l=await Cn(a,d,t.runs);return await Promise.all(l.flatMap(c=>"run"in c?[o(c.run)]:[])),l},"commit");return{admit:i(async(a,d)=>{let l=await xe(e,a,d),[c]=await s([l]);if(c===void 0||"conflict"in c)throw lt(l.idempotencyKey);return dt(c)},"admit"),admitBatch:i(async(a,d)=>{let l=await Bo(d,m=>xe(e,a,m));return{runs:(await s(l)).map((m,y)=>"run"in m?{outcome:"admitted",run:dt(m)}:{outcome:"conflict",idempotencyKey:l[y]?.idempotencyKey??"",detail:lt(l[y]?.idempotencyKey??null).message})}},"admitBatch"),release:i(async(a,d)=>{let l={tenantId:a.tenantId,runId:d},c=D(d)&&await t.deliveries.releaseIfHeld(l,r.publisherGraceSeconds),[m]=D(d)?await t.runs.byId([l]):[];if(m===void 0)throw new f("not_found","there is no such run",{fix:"Check the run id."});await o(m);let y=m.status==="FAILING"||m.status==="FAILED"||m.status.startsWith("CANCEL");if(!c&&y)throw new f("hold_ended",`the run is ${m.status}: there is nothing left to release`,{fix:"Admit a new run."});return{runId:d,enqueueSeq:m.enqueueSeq,released:c}},"release"),admitIn:i(async(a,d,l)=>{let c=await xe(e,d,l),m=ge(a,t.schema),y=await he(m,async()=>{let I=await G(m,[c],r),[Re]=await Cn([c],I,{byKey:i(Ae=>W(m,Ae),"byKey"),byId:i(()=>Promise.resolve([]),"byId")});return Re});if(y===void 0||"conflict"in y)throw lt(c.idempotencyKey);return{admitted:dt(y),tenantId:d.tenantId}},"admitIn"),publish:i(async({admitted:a,tenantId:d})=>{if(a.held)return;let{runId:l,enqueueSeq:c,queue:m}=a;await n.publish({tenantId:d,runId:l,enqueueSeq:c,queue:m})},"publish")}}i(On,"createAdmission");async function Cn(e,t,n){let r=e.filter(l=>!t.has(l.runId)),o=r.flatMap(l=>l.idempotencyKey===null?[]:[{tenantId:l.tenantId,idempotencyKey:l.idempotencyKey}]),s=r.filter(l=>l.idempotencyKey===null),a=new Map((o.length>0?await n.byKey(o):[]).map(l=>[l.idempotencyKey,l])),d=new Map((s.length>0?await n.byId(s):[]).map(l=>[l.runId,l]));return e.map(l=>{if(t.has(l.runId))return{run:Wo(l),created:!0};let c=l.idempotencyKey===null?d.get(l.runId):a.get(l.idempotencyKey);if(c===void 0)throw new f("outcome_unknown","the ledger neither wrote the run nor holds its key",{fix:"Send the request again under the same Idempotency-Key.",retryAfterSeconds:1});return c.requestDigest!==l.requestDigest?{conflict:!0}:{run:c,created:c.runId===l.runId}})}i(Cn,"settleKeys");function Wo(e){let{tenantId:t,runId:n,idempotencyKey:r,requestDigest:o,workflow:s,queue:a,priority:d,held:l}=e;return{tenantId:t,runId:n,idempotencyKey:r,requestDigest:o,workflow:s,queue:a,priority:d,held:l,status:"QUEUED",enqueueSeq:1,unpublished:!l}}i(Wo,"freshRun");function dt({run:e,created:t}){let{runId:n,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:l}=e;return{runId:n,created:t,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:l}}i(dt,"admittedView");function lt(e){return new f("idempotency_conflict",`the idempotency key "${e}" was used for another request`,{fix:"Use a new key for a new request, or send the same request again."})}i(lt,"conflict");async function Bo(e,t){let n=[],r=[],o;for(let[s,a]of e.entries())try{n.push(await t(a))}catch(d){if(!(d instanceof f))throw d;o??=d;let l=d.issues??[{path:"",message:d.message}];r.push(...l.map(c=>({path:`/runs/${s}${c.path}`,message:c.message})))}if(o===void 0)return n;throw new f(o.code,`nothing was admitted: ${o.message}`,{issues:r.slice(0,50),...o.fix===void 0?{}:{fix:o.fix}})}i(Bo,"prepareAll");var Tn={replayPatienceMs:1e3,settleReserveMs:2e3,overdueAfterMs:6e4,actsMarginSeconds:60};function ie(){return new Promise(e=>setImmediate(e))}i(ie,"comeToRest");function T(){let{promise:e,resolve:t,reject:n}=Promise.withResolvers();return e.catch(()=>{}),{promise:e,resolve:t,reject:n}}i(T,"deferred");var be=class{static{i(this,"Calls")}#e=new Map;#n=new Map;#t=new Map;next(t,n,r,o){let s=ct({epoch:t,scope:n,name:o});if(this.#n.has(s))return;let a=P({epoch:t,scope:n,kind:r,name:o,nth:0}),d=(this.#e.get(a)??0)+1;return this.#e.set(a,d),{epoch:t,scope:n,kind:r,name:o,nth:d}}open(t,n){let r={id:t,key:P(t),result:T(),start:n};return this.#t.set(r.key,r),this.#n.set(ct(t),r.key),r}find(t){return this.#t.get(P(t))}close(t){this.#t.delete(t.key),this.#n.delete(ct(t.id))}openCalls(){return[...this.#t.values()]}};function ct(e){return JSON.stringify([e.epoch,e.scope,e.name])}i(ct,"placeOf");function b(e,t,n){return{kind:"failed",failure:{code:e,name:"Refused",message:t,...n===void 0?{}:{step:n}}}}i(b,"refusal");var Pn=32*1048576,ke=class{static{i(this,"JournalWriter")}#e;#n;#t;constructor(t,n){this.#e=t,this.#n=n,this.#t=t.journalBytes}async write(t,n,r){try{return await this.#r(t,n,r)}catch(o){if(!(o instanceof k))return{written:!1,end:{kind:"unknown",error:o}};let s=`the result of step "${t.name}": ${o.message}`;return{written:!1,end:b(o.reason,s,t.name)}}}async#r(t,n,r){let{tenantId:o,runId:s}=this.#e,a=X(n.outcome==="ok"?n.value:n.failure),d=a===void 0?null:await this.#n.codec.encode(a,{tenantId:o,runId:s,kind:"result"}),l=d===null?0:Buffer.byteLength(d);if(this.#t+l>Pn)throw new k("too_large",`it would bring the run's journal above ${Pn} bytes`);let c=await this.#n.ledger.journal.appendIfClaimed(this.#e,{...t,outcome:n.outcome,resultText:d,resultDigest:d===null?null:E(d),resultBytes:l,tries:n.tries,tookMs:r});return c===null?{written:!1,end:{kind:"fenced"}}:(this.#t+=l,await this.#n.faults("worker.after-journal",t.name),{written:!0,text:a,completedAt:c.completedAt})}};async function Ln(e){let{options:t}=e;for(let n=1;;n+=1){let r=await Ko(e,n);if(r.outcome==="ok")return{outcome:"ok",value:r.value,tries:n};if(r.nonRetryable||n>=t.tries)return{outcome:"error",failure:r.failure,tries:n};if(e.hopSignal.aborted)return{outcome:"abandoned",tries:n};if(e.log.warn("a try of a step failed",{step:e.name,try:n,error:r.failure.name}),await Jo(Fe(t.backoff,n+1,e.chance()),e.hopSignal),e.hopSignal.aborted)return{outcome:"abandoned",tries:n}}}i(Ln,"runStep");async function Ko(e,t){let{timeoutMs:n}=e.options,r=new AbortController,o=i(()=>r.abort(e.hopSignal.reason),"stop");e.hopSignal.addEventListener("abort",o,{once:!0}),e.hopSignal.aborted&&o();let s=!1,a=setTimeout(()=>{s=!0,r.abort(new DOMException(`step "${e.name}" did not end within ${n} ms`,"TimeoutError"))},n),d=setTimeout(e.onOverdue,n+e.overdueAfterMs);try{let{idempotencyKey:l,log:c}=e;return{outcome:"ok",value:await e.run({idempotencyKey:l,tryNumber:t,signal:r.signal,log:c})}}catch(l){let c=q(l);return{outcome:"error",nonRetryable:Ho(l),failure:s?{name:"TimeoutError",message:`it did not end within ${n} ms (then: ${c.message.slice(0,500)})`}:c}}finally{clearTimeout(a),clearTimeout(d),e.hopSignal.removeEventListener("abort",o)}}i(Ko,"callOnce");function Ho(e){return e instanceof V?!0:e instanceof Error&&e.name==="NonRetryableError"}i(Ho,"isNonRetryable");function Jo(e,t){return new Promise(n=>{if(t.aborted)return n();let r=i(()=>{clearTimeout(o),t.removeEventListener("abort",r),n()},"end"),o=setTimeout(r,e);t.addEventListener("abort",r,{once:!0})})}i(Jo,"pause");function Mn(e,t,n,r,o){let s=n.claimedAt.getTime()+r.clock.monotonicMs()-o.claimedAtMs;if(n.deadlineAt!==null&&s>=n.deadlineAt.getTime())return b("deadline",`the run's deadline has passed before step "${e}"`,e);let a=o.remainingMs();if(!(t<=a-r.settings.settleReserveMs))return b("out_of_time",`step "${e}" may take ${t} ms, but only ${Math.floor(a)} ms remain of this invocation, and a run cannot move to another one yet`,e)}i(Mn,"whyNotNow");async function jn(e,t){let{call:n,claim:r,run:o,options:s,hopSignal:a,log:d}=e;try{await t.faults("worker.before-step",n.name);let l=await Ln({name:n.name,options:s,run:o,hopSignal:a,log:d,idempotencyKey:ve(r.firstRunId,n),chance:t.chance,overdueAfterMs:t.settings.overdueAfterMs,onOverdue:i(()=>Vo(e,t),"onOverdue")});return await t.faults("worker.after-step",n.name),l}catch(l){return{outcome:"error",failure:q(l),tries:1}}}i(jn,"liveStep");function Vo({call:e,claim:t,log:n},r){r.ledger.runs.raiseAttention(t,`step_overdue: ${e.name}`).catch(o=>{n.warn("attention could not be raised",{step:e.name,error:String(o).slice(0,200)})})}i(Vo,"askForAPerson");var Qo=6e4,zn=100,Fn=new Set(["tries","backoff","timeout"]),Un=200;function Gn(e,t,n,r){if(typeof e!="string"||e===""||e.length>Un||e.includes("\0")||!e.isWellFormed())return`a step's name is a text of 1 to ${Un} characters`;if(typeof t!="function")return`step "${e}" has no function`;let o=Object.keys(n??{}).find(s=>!Fn.has(s));if(o!==void 0)return`step "${e}": option "${o}" is not known in this version (known: ${[...Fn].join(", ")})`;try{return Yo(e,n??{},r)}catch(s){if(!(s instanceof f))throw s;return`step "${e}": ${s.message}${s.fix===void 0?"":`. ${s.fix}`}`}}i(Gn,"resolveStep");function Yo(e,t,n){let r=t.tries??1;if(!Number.isInteger(r)||r<1||r>zn)return`step "${e}": tries is a whole number from 1 to ${zn}`;let o=t.timeout===void 0?Math.min(Qo,n/2):A(t.timeout);return o<=0||o>n?`step "${e}": a timeout of ${t.timeout} does not fit the function's limit of ${Math.floor(n/1e3)} s`:{tries:r,timeoutMs:o,backoff:ze(t.backoff)}}i(Yo,"resolved");function Wn(e){let{runId:t,agent:n,requestedBy:r,deadlineAt:o}=e.claim,s=new H(t,0,"");return{runId:t,agent:n,requestedBy:r,deadline:o??void 0,abortSignal:e.abortSignal,log:Xo(e),step:i((a,d,l)=>e.step(a,d,l),"step"),now:i(()=>new Date(e.now()),"now"),random:i(()=>s.random(),"random"),uuid:i(()=>s.uuid(),"uuid")}}i(Wn,"workflowContext");function Xo(e){let t=i(n=>(r,o)=>{e.isLive()&&e.log[n](r,o)},"only");return{debug:t("debug"),info:t("info"),warn:t("warn"),error:t("error")}}i(Xo,"whileLive");var Ee=class{static{i(this,"Hop")}#e;#n;#t;#r;#u;#a;#d;#s=new AbortController;#i=new be;#f=[];#l;#p=!1;#y=0;#h=!0;#g=!1;#o;#c=T();constructor(t,n,r,o,s){this.#e=t,this.#n=n,this.#u=r,this.#t=o,this.#r=s,this.#a=o.logFor(t),this.#l=t.admittedAt,this.#d=new ke(t,o)}async run(t){this.#x(t),await this.#b(),this.#p=!0;for(let r of this.#i.openCalls())r.start();let n=await this.#E();return this.#s.abort(new DOMException("the hop has ended","AbortError")),n}#x(t){let n=Wn({claim:this.#e,log:this.#a,abortSignal:this.#s.signal,isLive:i(()=>this.#p,"isLive"),now:i(()=>this.#l,"now"),step:i((o,s,a)=>this.#I(o,s,a),"step")});i(async()=>this.#n.run(n,t),"body")().then(o=>this.#m({kind:"returned",output:o}),o=>this.#m(Zo(o)))}#m(t){let n=t.kind==="fenced"||t.kind==="unknown";(this.#o===void 0||n)&&(this.#o=t),n&&(this.#h=!1),t.kind!=="returned"&&this.#s.abort(new DOMException("the run does not go on here","AbortError")),this.#c.resolve()}async#b(){await ie();for(let t of this.#u){if(this.#g)return;let n=await this.#k(t);if(n===void 0){let r=this.#i.openCalls().map(o=>ae(o.id));if(this.#g)return;this.#o=b("journal_mismatch",`journal entry ${t.ordinal} is ${ae(t)}, but the code ${r.length===0?"does not ask for it":`asks for ${r.join(", ").slice(0,1e3)}`}: the workflow's code has changed or is not deterministic`);return}this.#_(n,t.outcome,t.text,t.tries,t.completedAt),await ie()}}async#k(t){let n=this.#t.clock.monotonicMs();for(;;){let r=this.#i.find(t);if(r!==void 0)return r;if(this.#o!==void 0||this.#t.clock.monotonicMs()-n>this.#t.settings.replayPatienceMs)return;await ie()}}async#E(){for(;;){let t=this.#f.shift();if(t!==void 0)await this.#S(t);else{if(this.#o!==void 0&&this.#y===0)return this.#o;await this.#c.promise,this.#c=T()}}}async#S({call:t,end:n,tookMs:r}){if(n.outcome==="abandoned"||!this.#h){this.#a.warn("a step ended after its hop; its outcome is not journaled",{step:t.id.name});return}let o=await this.#d.write(t.id,n,r);if(!o.written)return this.#m(o.end);this.#_(t,n.outcome,o.text??null,n.tries,o.completedAt),await ie()}#_(t,n,r,o,s){this.#i.close(t),this.#l=s;let a=r===null?void 0:JSON.parse(r);n==="ok"?t.result.resolve(a):t.result.reject(new L(t.id.name,o,a))}#I(t,n,r){if(this.#o!==void 0)return T().promise;let o=Gn(t,n,r,this.#r.limitMs);if(typeof o=="string")return this.#w(b("invalid_call",o));let s=this.#i.next(0,"","step",t);if(s===void 0)return this.#w(b("duplicate_call",`a call "${t}" is open already: give calls that run at the same time names of their own`));let a=this.#i.open(s,()=>this.#q(a,n,o));return this.#p&&a.start(),this.#c.resolve(),a.result.promise}#w(t){return this.#g=!0,this.#m(t),T().promise}#q(t,n,r){if(this.#o!==void 0&&this.#o.kind!=="returned")return;let{clock:o}=this.#t,s=Mn(t.id.name,r.timeoutMs,this.#e,this.#t,this.#r);if(s!==void 0)return this.#m(s);this.#y+=1;let a=o.monotonicMs(),{claim:d,log:l,abort:c}={claim:this.#e,log:this.#a,abort:this.#s};jn({call:t.id,claim:d,run:n,options:r,hopSignal:c.signal,log:l},this.#t).then(m=>{this.#y-=1,this.#f.push({call:t,end:m,tookMs:o.monotonicMs()-a}),this.#c.resolve()})}};function Zo(e){return e instanceof L?{kind:"failed",failure:{code:"step_failed",...q(e),step:e.step}}:{kind:"failed",failure:{code:"workflow_failed",...q(e)}}}i(Zo,"failureOf");var R=class extends Error{static{i(this,"DisagreementError")}constructor(t){super(t),this.name="DisagreementError"}};async function mt(e,t,n,r){if(t===null||E(e)!==t)throw new R(`${n} disagrees with its digest`);try{return await r(e)}catch(o){throw new R(`${n} cannot be decoded: ${String(o).slice(0,200)}`)}}i(mt,"verified");async function Bn(e,t,n){if(t.length!==e.journalLength)throw new R(`the journal has ${t.length} entries, the run says ${e.journalLength}`);let r={tenantId:e.tenantId,runId:e.runId,kind:"result"};return Promise.all(t.map(async(o,s)=>{if(o.ordinal!==s+1)throw new R(`journal entry ${s+1} is missing`);let{ordinal:a,epoch:d,scope:l,kind:c,name:m,nth:y,outcome:I,tries:Re,completedAt:Ae,resultText:ft}=o,tr=ft===null?ei(o):await mt(ft,o.resultDigest,`journal entry ${a}`,nr=>n.decode(nr,r));return{ordinal:a,epoch:d,scope:l,kind:c,name:m,nth:y,outcome:I,text:tr,tries:Re,completedAt:Ae}}))}i(Bn,"loadJournal");function ei(e){if(e.resultDigest!==null)throw new R(`the result of journal entry ${e.ordinal} is gone`);return null}i(ei,"emptied");async function Kn(e,t,n,r){let{tenantId:o,runId:s}=e,a=n.kind==="returned"?await ni(t,n.output):n.failure;if(ti(a)){let l=await r.codec.encode(JSON.stringify(a),{tenantId:o,runId:s,kind:"error"});return{status:"FAILED",errorCode:a.code,errorText:l,errorDigest:E(l)}}if(a.text===void 0)return{status:"DONE",outputText:null,outputDigest:null};let d=await r.codec.encode(a.text,{tenantId:o,runId:s,kind:"output"});return{status:"DONE",outputText:d,outputDigest:E(d)}}i(Kn,"settlementOf");function ti(e){return"code"in e}i(ti,"isFailure");async function ni(e,t){try{let n=await e?.output?.safeParseAsync(t);return n!==void 0&&!n.success?{code:"output_invalid",name:"Refused",message:`what the workflow returned does not fit its output schema: ${n.error.issues.slice(0,10).map(o=>`/${o.path.map(String).join("/")}: ${o.message}`).join("; ").slice(0,1500)}`}:{text:X(n===void 0?t:n.data)}}catch(n){return n instanceof k?{code:n.reason,name:"Refused",message:`what the workflow returned: ${n.message}`}:{code:"output_invalid",name:"Refused",message:`the output schema threw: ${String(n).slice(0,500)}`}}}i(ni,"outputOf");async function Hn(e,t,n){await n.faults("worker.before-settle",e.runId);let r=await n.ledger.deliveries.settleIfClaimed(e,t);return await n.faults("worker.after-settle",e.runId),r}i(Hn,"settle");async function Jn(e,t,n){try{await t.faults("worker.after-claim",e.runId);let r=await ri(e,t,n);if(r.kind==="fenced"||r.kind==="unknown")return r;let o=t.registry.find(e.workflow)?.definition,s=await Kn(e,o,r,t);return(await Hn(e,s,t)).settled?{kind:"settled",status:s.status}:{kind:"fenced"}}catch(r){return r instanceof R?ii(e,r.message,t):{kind:"unknown",error:r}}}i(Jn,"carry");async function ri(e,t,n){let{name:r,version:o,digest:s}=e.workflow,a=t.registry.find(e.workflow);if(a?.digest!==s){let I=a===void 0?"this worker has none of that name and version":`this worker has ${a.digest}`;return b("workflow_changed",`the run is pinned to workflow "${r}" version ${o} with digest ${s}; ${I}`)}if(e.deadlineAt!==null&&e.claimedAt>=e.deadlineAt)return b("deadline",`the run's deadline ${e.deadlineAt.toISOString()} had passed when a worker claimed it`);let d=e.journalLength===0?[]:await Bn(e,await t.ledger.journal.read(e),t.codec),{tenantId:l,runId:c}=e,m=await mt(e.inputText,e.inputDigest,"the input",I=>t.codec.decode(I,{tenantId:l,runId:c,kind:"input"})),y=await oi(a.definition,m);return"problem"in y?b("input_invalid",`the input does not fit the workflow's schema: ${y.problem}`):new Ee(e,a.definition,d,t,n).run(y.value)}i(ri,"hopOf");async function oi(e,t){try{let n=await e.input.safeParseAsync(JSON.parse(t));return n.success?{value:n.data}:{problem:n.error.message.slice(0,1500)}}catch(n){return{problem:q(n).message}}}i(oi,"inputOf");async function ii(e,t,n){try{return await n.ledger.runs.quarantineIfClaimed(e,t)?{kind:"quarantined",reason:t}:{kind:"fenced"}}catch(r){return{kind:"unknown",error:r}}}i(ii,"quarantine");async function Vn(e,t,n){let r=new Map;for(let s of e){let a=le(s.body);a!==void 0&&r.set(K(a),a)}let o=await si([...r.values()],t,n);return Promise.all(e.map(async s=>{let a=le(s.body);if(a===void 0)return t.log.error("a message is no delivery; it stays until the dead-letter queue takes it",{messageId:s.messageId,bytes:Buffer.byteLength(s.body)}),{messageId:s.messageId,done:!1,reason:"poison"};let d=o.get(K(a))??{done:!1,reason:"unknown_outcome"};return d.retryInSeconds!==void 0&&await li(s,d.retryInSeconds,t,n),{messageId:s.messageId,done:d.done,reason:d.reason}}))}i(Vn,"work");async function si(e,t,n){let r=new Map;if(e.length===0)return r;let o=t.clock.monotonicMs(),s;try{s=await ai(e,t,n)}catch(m){return t.log.error("a batch could not be claimed; its messages go back",{count:e.length,error:Se(m)}),r}let{limitMs:a,remainingMs:d}=n,l=await Promise.all(s.map(async m=>({one:m,end:await Jn(m,t,{limitMs:a,remainingMs:d,claimedAtMs:o})})));for(let{one:m,end:y}of l){let I=ui(m,y,t);I!==void 0&&r.set(K({runId:m.runId,enqueueSeq:m.seq}),I)}let c=e.filter(m=>!r.has(K(m)));for(let[m,y]of await di(c,t))r.set(m,y);return r}i(si,"carryAll");function ai(e,t,n){let r=Math.max(1,n.remainingMs()/1e3);return t.ledger.deliveries.claimIfDue(e.map(o=>({...o,token:t.ids.next()})),{worker:t.worker,leaseSeconds:r,actsForSeconds:r+t.settings.actsMarginSeconds})}i(ai,"claim");function ui(e,t,n){let r=n.logFor(e);switch(t.kind){case"settled":return r.info("run settled",{status:t.status,workflow:e.workflow.name}),{done:!0,reason:t.status};case"quarantined":return r.error("run quarantined",{reason:t.reason}),{done:!0,reason:"quarantined"};case"fenced":r.warn("the claim was taken away; nothing more was written");return;case"unknown":return r.error("the hop's outcome is unknown; the claim stays as it is",{error:Se(t.error)}),{done:!1,reason:"unknown_outcome"}}}i(ui,"verdictOf");async function di(e,t){if(e.length===0)return[];try{let n=await t.ledger.deliveries.unclaimed(e);return e.map(r=>{let o=Ve(n.get(K(r)));return t.log.info("a delivery was skipped",{runId:r.runId,enqueueSeq:r.enqueueSeq,reason:o.reason}),[K(r),o.deleteMessage?{done:!0,reason:o.reason}:{done:!1,reason:o.reason,retryInSeconds:o.retryInSeconds}]})}catch(n){return t.log.error("skipped deliveries could not be read; their messages go back",{error:Se(n)}),[]}}i(di,"explain");async function li(e,t,n,r){try{await n.queue.changeVisibility(r.queue,e.receiptHandle,t)}catch(o){n.log.warn("a message's visibility could not be changed",{messageId:e.messageId,error:Se(o)})}}i(li,"putBack");function K(e){return`${e.runId}:${e.enqueueSeq}`}i(K,"keyOf");function Se(e){return e instanceof Error?`${e.name}: ${e.message}`.slice(0,300):String(e).slice(0,300)}i(Se,"nameOf");function Qn(e){let{ledger:t,codec:n}=e;return{getRun:i(async(r,o)=>{if(!D(o))return;let s=await t.runs.get({tenantId:r,runId:o});return s===null?void 0:ci(s,n)},"getRun"),listRuns:i(async(r,o,s)=>{let{runs:a,nextCursor:d}=await t.runs.page(r,o,s);return{runs:a.map(Yn),nextCursor:d}},"listRuns"),getTimeline:i(async(r,o)=>{if(!D(o))return;let s={tenantId:r,runId:o},a=await t.runs.get(s);if(a===null)return;let[d,l]=await Promise.all([t.deliveries.ofRun(s),t.journal.read(s)]);return{runId:o,status:a.status,entries:mi(a,d,l)}},"getTimeline")}}i(Qn,"createReads");var Ie=i(e=>e?.toISOString()??null,"iso");function Yn(e){let t=i(n=>n===null?null:{reason:n.reason,at:n.at.toISOString()},"flag");return{runId:e.runId,workflow:e.workflow,status:e.status,queue:e.queue,priority:e.priority,agent:e.agent,idempotencyKey:e.idempotencyKey,requestedBy:e.requestedBy,enqueueSeq:e.enqueueSeq,steps:e.journalLength,errorCode:e.errorCode,attention:t(e.attention),quarantine:t(e.quarantine),pausedAt:Ie(e.pausedAt),deadlineAt:Ie(e.deadlineAt),createdAt:e.createdAt.toISOString(),startedAt:Ie(e.startedAt),finishedAt:Ie(e.finishedAt)}}i(Yn,"summaryOf");async function ci(e,t){let{tenantId:n,runId:r}=e,o=i(async(s,a)=>s===null?null:JSON.parse(await t.decode(s,{tenantId:n,runId:r,kind:a})),"read");return{...Yn(e),input:await o(e.inputText,"input"),output:await o(e.outputText,"output"),error:await o(e.errorText,"error")}}i(ci,"viewOf");function mi(e,t,n){let r=[{kind:"admitted",at:e.createdAt.toISOString()}];for(let s of t)r.push(...pi(s));for(let s of n)r.push({kind:"step",at:s.completedAt.toISOString(),enqueueSeq:s.seq,ordinal:s.ordinal,name:s.name,nth:s.nth,outcome:s.outcome,tries:s.tries,startedAt:s.startedAt.toISOString()});e.finishedAt!==null&&r.push({kind:"finished",at:e.finishedAt.toISOString(),status:e.status,errorCode:e.errorCode});let o=i(s=>fi.indexOf(s.kind),"rank");return r.toSorted((s,a)=>s.at===a.at?o(s)-o(a):s.at<a.at?-1:1)}i(mi,"timelineOf");var fi=["admitted","delivery","published","claimed","step","worker_ended","fenced","settled","finished"];function pi(e){let{seq:t,cause:n,status:r,publications:o}=e,s=[{kind:"delivery",at:e.createdAt.toISOString(),enqueueSeq:t,cause:n,status:r,dueAt:e.dueAt.toISOString()}];e.publishedAt!==null&&s.push({kind:"published",at:e.publishedAt.toISOString(),enqueueSeq:t,publications:o});let a=e.claimedBy??"unknown";if(e.claimedAt!==null&&s.push({kind:"claimed",at:e.claimedAt.toISOString(),enqueueSeq:t,worker:a}),e.workerEndedAt!==null){let d=e.workerEnd??"unknown";s.push({kind:"worker_ended",at:e.workerEndedAt.toISOString(),enqueueSeq:t,worker:a,how:d})}return e.settledAt!==null&&e.outcome!==null&&s.push({kind:"settled",at:e.settledAt.toISOString(),enqueueSeq:t,outcome:e.outcome}),e.fencedAt!==null&&s.push({kind:"fenced",at:e.fencedAt.toISOString(),enqueueSeq:t}),s}i(pi,"ofDelivery");async function Xn(e){let{ledger:t,queue:n,faults:r,log:o}=e,s=await t.deliveries.duePublications(e.pageSize);if(s.length===0)return{due:0,published:0,failed:0};await r("relay.after-select",`${s.length} due`);let{confirmed:a,failed:d}=await n.publish(s);await r("relay.after-publish",`${a.length} confirmed`),await t.deliveries.markPublished(a),await t.deliveries.markPublicationFailed(d);for(let{publication:c,reason:m}of d)o.warn("the relay could not publish a delivery",{runId:c.runId,reason:m});let l=new Set(a.map(c=>`${c.runId}:${c.enqueueSeq}`));for(let c of s)c.publications+1<Me||!l.has(`${c.runId}:${c.enqueueSeq}`)||await t.runs.raiseAttention(c,"unclaimed: published again and again, and claimed by no worker");return{due:s.length,published:a.length,failed:d.length}}i(Xn,"relay");async function Zn(e){let t={due:0,published:0,failed:0,pages:0};try{for(;e.remainingMs()>e.pageBudgetMs;){let n=await Xn(e);if(t.pages+=1,t.due+=n.due,t.published+=n.published,t.failed+=n.failed,n.due<e.pageSize||n.published===0)break}return{relay:t}}catch(n){return e.log.error("the delivery relay was interrupted",{error:String(n).slice(0,300)}),{relay:{...t,error:n instanceof Error?n.name:"error"}}}}i(Zn,"reconcile");var qe=class{static{i(this,"Registry")}#e=new Map;#n=new Map;constructor(t){for(let n of t){let{name:r,version:o}=n.definition,s=`${r}@${o}`;if(this.#e.has(s))throw new f("configuration_invalid",`workflow "${r}" version ${o} is registered twice`,{fix:"Give each registered workflow its own name or version."});this.#e.set(s,n);let a=this.#n.get(r);(a===void 0||a.definition.version<o)&&this.#n.set(r,n)}}all(){return[...this.#e.values()]}pins(){return this.all().map(({definition:t,digest:n})=>({name:t.name,version:t.version,digest:n}))}choose(t,n){let r=n===void 0?this.#n.get(t):this.#e.get(`${t}@${n}`);if(r===void 0){let o=n===void 0?`"${t}"`:`"${t}" version ${n}`;throw new f("unknown_workflow",`there is no workflow ${o}`,{fix:`Registered are: ${[...this.#e.keys()].join(", ")||"none"}.`})}return r}find(t){return this.#e.get(`${t.name}@${t.version}`)}};export{Lt as core,er as engine,$n as ledger};
