/* engine 5, frozen by test/compat/freeze.ts */
var bt=Object.defineProperty;var i=(n,e)=>bt(n,"name",{value:e,configurable:!0});var Le=(n,e)=>{for(var t in e)bt(n,t,{get:e[t],enumerable:!0})};var Ht={};Le(Ht,{ATTEMPT_MOVES:()=>At,CALL_KINDS:()=>pi,CONSENT_MOVES:()=>Dt,DEFAULT_QUEUE:()=>Pn,DEFAULT_QUEUES:()=>Pi,DELIVERY_CAUSES:()=>Mn,DELIVERY_MOVES:()=>Rt,DELIVERY_OUTCOMES:()=>Ln,ERROR_CODES:()=>yi,FAULT_POINTS:()=>wi,GhoulsError:()=>g,LONGEST_RESIDENT_DELAY_MS:()=>Dn,MAX_DEPTH:()=>xe,MAX_FAILURE_MESSAGE:()=>Te,MAX_FAILURE_STACK:()=>Et,MAX_VALUE_BYTES:()=>Ee,MOVES:()=>qe,NonRetryableError:()=>K,NotDoneError:()=>Z,OPEN_DELIVERY:()=>Tn,PERMISSIONS:()=>qt,PUBLICATIONS_BEFORE_ATTENTION:()=>An,PUBLICATION_DELAYS:()=>Ge,PUBLISHER_GRACE_SECONDS:()=>ze,QUEUE_NAME:()=>On,QueueSettings:()=>Ni,RUN_FAILURE_CODES:()=>Nn,RUN_MOVES:()=>Ct,RandomStream:()=>we,SKIP_REASONS:()=>Ti,StepFailedError:()=>ee,TimingSettings:()=>Oi,UnserializableError:()=>O,callKey:()=>v,canMove:()=>$t,canonicalText:()=>Sn,decideSkip:()=>Fn,delayAfterFailure:()=>$i,delayAfterPublication:()=>Di,describeCall:()=>Me,describeFailure:()=>x,diagram:()=>Mi,durationMs:()=>M,formatMessage:()=>qi,idempotencyKeyOf:()=>ke,identityCodec:()=>Ci,isDuration:()=>J,isRunId:()=>T,isTerminalRun:()=>jn,mayDo:()=>Ai,noFaults:()=>En,noHint:()=>Ri,notDone:()=>_i,parseJson:()=>xi,parseMessage:()=>Fe,queueUrlVariable:()=>Li,resolveBackoff:()=>$n,retryDelayMs:()=>Ie,serialize:()=>ne,sha256:()=>q,sourcesOf:()=>te,sqlStates:()=>k,statesOf:()=>D,terminalStatesOf:()=>Ce,wire:()=>Gn});import{createHash as xt}from"node:crypto";var pi=["step"];function v(n){return JSON.stringify([n.epoch,n.scope,n.kind,n.name,n.nth])}i(v,"callKey");function Me(n){let e=n.nth===1?"":` (use ${n.nth})`,t=n.scope===""?"":` in ${n.scope}`;return`${n.kind} "${n.name}"${e}${t}`}i(Me,"describeCall");function ke(n,e){return xt("sha256").update(`ghouls-step-1
${n}
${v(e)}`).digest("hex")}i(ke,"idempotencyKeyOf");var we=class{static{i(this,"RandomStream")}#e;#n=0;constructor(e,t,r){this.#e=`ghouls-random-1
${JSON.stringify([e,t,r])}`}#t(){return this.#n+=1,xt("sha256").update(`${this.#e}
${this.#n}`).digest()}random(){return Number(this.#t().readBigUInt64BE()>>11n)/2**53}uuid(){let e=this.#t().subarray(0,16);e[6]=e[6]&15|64,e[8]=e[8]&63|128;let t=e.toString("hex");return`${t.slice(0,8)}-${t.slice(8,12)}-${t.slice(12,16)}-${t.slice(16,20)}-${t.slice(20)}`}};import{createHash as gi}from"node:crypto";function q(n){return gi("sha256").update(n,"utf8").digest("hex")}i(q,"sha256");var yi=["invalid_request","malformed_json","unknown_workflow","unknown_queue","input_invalid","too_large","idempotency_conflict","admission_busy","not_found","unauthenticated","forbidden","hold_ended","wrong_transaction","configuration_invalid","schema_outdated","integrity_fault","ledger_unavailable","outcome_unknown","queue_unavailable","internal"],g=class extends Error{static{i(this,"GhoulsError")}code;fix;issues;retryAfterSeconds;constructor(e,t,r={}){super(t,r.cause===void 0?void 0:{cause:r.cause}),this.name="GhoulsError",this.code=e,this.fix=r.fix,this.issues=r.issues,this.retryAfterSeconds=r.retryAfterSeconds}},K=class extends Error{static{i(this,"NonRetryableError")}constructor(e,t){super(e,t),this.name="NonRetryableError"}},Z=class extends Error{static{i(this,"NotDoneError")}constructor(e){super(e instanceof Error?e.message:String(e),{cause:e}),this.name="NotDoneError"}};function _i(n){return new Z(n)}i(_i,"notDone");var ee=class extends Error{static{i(this,"StepFailedError")}step;tries;failure;constructor(e,t,r){super(`step "${e}" failed after ${t===1?"1 try":`${t} tries`}: ${r.message}`),this.name="StepFailedError",this.step=e,this.tries=t,this.failure=r}},Te=2e3,Et=6e3;function x(n){try{if(n instanceof Error){let t=typeof n.stack=="string"?be(n.stack,Et):void 0;return{name:be(String(n.name),200),message:be(String(n.message),Te),...t===void 0?{}:{stack:t}}}if(typeof n=="string")return{name:"Error",message:be(`a string was thrown: ${n}`,Te)};if(n==null)return{name:"Error",message:`${String(n)} was thrown, not an Error`};let e=JSON.stringify(n,(t,r)=>typeof r=="bigint"?String(r):r);return{name:"Error",message:be(`a value that is no Error was thrown: ${e??typeof n}`,Te)}}catch{return{name:"Error",message:`a value of type ${typeof n} that cannot be described was thrown`}}}i(x,"describeFailure");function be(n,e){return n.length<=e?n.toWellFormed():`${n.slice(0,e).toWellFormed()}\u2026 (${n.length-e} more characters)`}i(be,"bounded");var xn={ms:1,s:1e3,m:6e4,h:36e5,d:864e5},hi=3650*xn.d;function J(n){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(n);return e===null?!1:Number(e[1])*xn[e[2]]<=hi}i(J,"isDuration");function M(n){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(n);if(e===null||!J(n))throw new g("configuration_invalid",`"${String(n).slice(0,40)}" is not a duration`,{fix:'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).'});return Number(e[1])*xn[e[2]]}i(M,"durationMs");var wi=["ledger.before-statement","ledger.after-statement","ledger.before-commit","ledger.after-commit","secrets.before-read","secrets.after-read","queue.before-publish","queue.after-publish","queue.before-receive","queue.after-receive","queue.before-visibility","queue.after-visibility","queue.before-delete","queue.after-delete","admission.after-commit","admission.after-publish","worker.after-claim","worker.before-beat","worker.before-intent","worker.after-intent","worker.before-step","worker.after-step","worker.after-journal","worker.before-handover","worker.after-handover","worker.before-settle","worker.after-settle","relay.after-select","relay.after-publish","reanimation.after-select","reanimation.after-judgement","containment.after-select","containment.after-look","holds.after-select","holds.after-expiry","hint.before-read","hint.after-read","hint.before-lower","hint.after-lower","hint.before-raise","hint.after-raise"],En=i(()=>{},"noFaults");var xe=100,ki=new Set(["__proto__","constructor","prototype"]),qn=JSON,bi=JSON.parse;function xi(n){if(Ei(n)>xe)throw new g("malformed_json",`the document is nested more than ${xe} levels deep`,{fix:"Flatten the document, or send it as one string."});let e;try{e=bi(n,(r,o,s)=>typeof o=="number"?qn.rawJSON(s.source??String(o)):o)}catch(r){throw new g("malformed_json",`the document is not valid JSON: ${r.message.slice(0,200)}`,{fix:"Send one JSON document in UTF-8."})}let t=[];if(In(e,"",t),t.length>0)throw new g("invalid_request","the document holds values that cannot be kept unchanged",{issues:t,fix:"Send large numbers as strings, and text without NUL and lone surrogates."});return{value:JSON.parse(n),canonical:Sn(e),member:i(r=>{if(!(typeof e!="object"||e===null||!Object.hasOwn(e,r)))return Sn(e[r])},"member")}}i(xi,"parseJson");function Ei(n){let e=0,t=0,r=!1;for(let o=0;o<n.length;o+=1){let s=n.charCodeAt(o);r?s===92?o+=1:s===34&&(r=!1):s===34?r=!0:s===91||s===123?t=Math.max(t,e+=1):(s===93||s===125)&&(e-=1)}return t}i(Ei,"nestingOf");function In(n,e,t){if(!(t.length>=20)){if(typeof n=="string"){let r=It(n);r!==void 0&&t.push({path:e,message:r});return}if(!(typeof n!="object"||n===null)){if(qn.isRawJSON(n)){let r=Number(JSON.stringify(n));Math.abs(r)>Number.MAX_SAFE_INTEGER&&t.push({path:e,message:"a number beyond 2^53 - 1 would not come back unchanged; send it as a string"});return}if(Array.isArray(n)){n.forEach((r,o)=>In(r,`${e}/${o}`,t));return}for(let[r,o]of Object.entries(n)){let s=`${e}/${r.slice(0,100).toWellFormed()}`;ki.has(r)&&t.push({path:s,message:"this key is not allowed"});let a=It(r);a!==void 0&&t.push({path:s,message:`the key: ${a}`}),In(o,s,t)}}}}i(In,"inspect");function It(n){if(n.includes("\0"))return"text with a NUL character is not taken";if(!n.isWellFormed())return"text with a lone surrogate is not taken"}i(It,"textProblem");function Sn(n){return JSON.stringify(vn(n))}i(Sn,"canonicalText");function vn(n){if(typeof n!="object"||n===null||qn.isRawJSON(n))return n;if(Array.isArray(n))return n.map(vn);let e=Object.entries(n).toSorted(([t],[r])=>t<r?-1:1);return Object.fromEntries(e.map(([t,r])=>[t,vn(r)]))}i(vn,"sorted");var O=class extends Error{static{i(this,"UnserializableError")}reason;constructor(e,t){super(t),this.name="UnserializableError",this.reason=e}},Ee=1048576;function ne(n,e=Ee){if(n===void 0)return;let t;try{t=JSON.stringify(je(n,"",[]))}catch(o){throw o instanceof O?o:new O("unserializable",`it cannot be turned into JSON: ${x(o).message.slice(0,500)}`)}let r=Buffer.byteLength(t);if(r>e)throw new O("too_large",`it is ${r} bytes of JSON, the limit is ${e}`);return t}i(ne,"serialize");function je(n,e,t){let r=e===""?"the value":`the value at ${e}`,o=i(d=>new O("unserializable",`${r} is ${d}, which JSON cannot hold`),"refuse");switch(typeof n){case"string":case"boolean":return n;case"number":if(!Number.isFinite(n))throw o(String(n));return n;case"undefined":case"bigint":case"symbol":case"function":throw o(`a value of type ${typeof n}`);case"object":}if(n===null)return null;if(t.includes(n))throw o("a cycle");if(t.length>xe)throw o(`nested more than ${xe} levels deep`);let s=[...t,n];if(n instanceof Date&&Number.isNaN(n.getTime()))throw o("an invalid Date");if("toJSON"in n&&typeof n.toJSON=="function"){let d=n.toJSON("");if(d===n)throw o("a cycle of toJSON");return je(d,e,s)}if(Array.isArray(n))return Array.from(n,(d,u)=>je(d,`${e}/${u}`,s));if(!Ii(n))throw o(`a ${n.constructor?.name??"class instance"}`);let a={};for(let[d,u]of Object.entries(n))u!==void 0&&Object.defineProperty(a,d,{value:je(u,`${e}/${d.slice(0,100)}`,s),enumerable:!0,configurable:!0,writable:!0});return a}i(je,"plain");function Ii(n){let e=Object.getPrototypeOf(n);return e===null||e===Object.prototype?!0:Object.getPrototypeOf(e)===null&&n.constructor?.name==="Object"}i(Ii,"isPlainObject");var St="[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",Si=new RegExp(`^${St}$`),vi=new RegExp(`^run:(${St}):([1-9]\\d{0,8})$`);function T(n){return Si.test(n)}i(T,"isRunId");function qi(n){return`run:${n.runId}:${n.enqueueSeq}`}i(qi,"formatMessage");function Fe(n){let e=vi.exec(n);if(e!==null)return{runId:e[1],enqueueSeq:Number(e[2])}}i(Fe,"parseMessage");var Ci={encode:i(n=>Promise.resolve(n),"encode"),decode:i(n=>Promise.resolve(n),"decode")},Ri={keeps:!1,read:i(()=>Promise.resolve(void 0),"read"),lower:i(()=>Promise.resolve(),"lower"),raise:i(()=>Promise.resolve(!1),"raise")};var qt=["runs:admit","runs:release","runs:cancel","runs:resolve","runs:read","workflows:read"],vt={operator:qt,submitter:["runs:admit","runs:release","runs:cancel","runs:read","workflows:read"],decider:["runs:read","workflows:read"]};function Ai(n,e){return n.roles.some(t=>Object.hasOwn(vt,t)&&vt[t]?.includes(e))}i(Ai,"mayDo");var ze=15,Cn=[60,120,300,600,1800,3600],Rn=[5,10,30,60,120,300],An=5;function Di(n){return Cn[Math.min(Math.max(n,1),Cn.length)-1]}i(Di,"delayAfterPublication");function $i(n){return Rn[Math.min(Math.max(n,1),Rn.length)-1]}i($i,"delayAfterFailure");var Ge={afterSuccess:Cn,afterFailure:Rn};var Dn=1e4;function $n(n={}){let e={initialMs:M(n.initial??"200ms"),factor:n.factor??2,maxMs:M(n.max??"10s")};if(!(e.factor>=1&&e.factor<=100))throw new g("configuration_invalid",`a backoff factor of ${String(n.factor)} is not taken`,{fix:"Give a factor from 1 to 100."});if(e.maxMs>Dn||e.initialMs>Dn)throw new g("configuration_invalid","a delay above 10 s between two tries is not supported yet",{fix:'Use delays up to "10s": a longer wait has to park the run, and this version has no parks.'});return e}i($n,"resolveBackoff");function Ie(n,e,t){let r=Math.min(n.maxMs,n.initialMs*n.factor**(e-2));return Math.round(r/2+r/2*t)}i(Ie,"retryDelayMs");var Nn=["workflow_failed","step_failed","workflow_changed","journal_mismatch","duplicate_call","invalid_call","input_invalid","output_invalid","unserializable","too_large","deadline","out_of_time","no_progress","ghoul_lost","effect_unknown","hold_expired"];import*as U from"zod";var Se=U.string().refine(n=>J(n),'write a whole number and a unit, such as "90s" or "15m"'),On=/^[a-z][a-z0-9-]{0,31}$/,Ni=U.strictObject({batchSize:U.int().min(1).max(10).default(5),concurrency:U.int().min(1).max(1e3).default(2),functionTimeout:Se.refine(n=>!J(n)||M(n)>=5e3&&M(n)<=432e5,'from "5s" to "12h"').default("15m")}),Oi=U.strictObject({lease:Se.default("120s"),beat:Se.default("30s"),actsMargin:Se.default("60s"),maxLosses:U.int().min(1).max(100).default(3),deployOverlap:Se.default("1h")}),Pi={runs:{batchSize:5,concurrency:2},rites:{batchSize:1,concurrency:2}},Pn="runs";function Li(n){return`GHOULS_QUEUE_${n.toUpperCase().replaceAll("-","_")}_URL`}i(Li,"queueUrlVariable");var ve=["QUEUED","FAILING","CANCELLING"],Ct={QUEUED:["RUNNING","FAILING","CANCELLING"],RUNNING:["AWAITING_HARDWARE","AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER","QUEUED","COMPLETING","DONE","FAILING","FAILED","CANCELLING"],AWAITING_HARDWARE:["RUNNING","QUEUED","FAILING","CANCELLING"],AWAITING_CONSENT:ve,AWAITING_DELEGATE:ve,AWAITING_CHILD:ve,AWAITING_SIGNAL:ve,AWAITING_TIMER:ve,COMPLETING:["DONE"],FAILING:["FAILED"],CANCELLING:["CANCELLED"],DONE:[],FAILED:[],CANCELLED:[]},Rt={HELD:["PENDING","FENCED"],PENDING:["CLAIMED","FENCED"],CLAIMED:["SETTLED","FENCED"],SETTLED:[],FENCED:[]},Ue=["SUCCEEDED","FAILED","CANCELLED"],At={DEFINED:["SUBMITTING","CANCELLED"],SUBMITTING:["SUBMITTED","RUNNING",...Ue,"UNCERTAIN"],SUBMITTED:["RUNNING",...Ue,"UNCERTAIN"],RUNNING:[...Ue,"UNCERTAIN"],UNCERTAIN:["SUBMITTING","SUBMITTED","RUNNING",...Ue],SUCCEEDED:[],FAILED:[],CANCELLED:[]},Dt={PENDING:["GRANTED","DENIED","EXPIRED","CANCELLED"],GRANTED:[],DENIED:[],EXPIRED:[],CANCELLED:[]},qe={run:Ct,delivery:Rt,attempt:At,consent:Dt},Ln=["done","failed","parked","continued","lost","given_back","refused"],Mn=["admitted","resumed","continued","recovered","contain"];function D(n){return Object.keys(qe[n])}i(D,"statesOf");function $t(n,e,t){return qe[n][e]?.includes(t)??!1}i($t,"canMove");function te(n,e){return D(n).filter(t=>$t(n,t,e))}i(te,"sourcesOf");function Ce(n){return D(n).filter(e=>(qe[n][e]??[]).length===0)}i(Ce,"terminalStatesOf");var Tn=D("delivery").filter(n=>!Ce("delivery").includes(n));function jn(n){return Ce("run").includes(n)}i(jn,"isTerminalRun");function k(n){for(let e of n)if(!/^[A-Z_]+$/.test(e))throw new TypeError(`not a state: ${e}`);return n.map(e=>`'${e}'`).join(", ")}i(k,"sqlStates");function Mi(n){let e=Object.entries(qe[n]).flatMap(([t,r])=>r.length===0?[`    ${t} --> [*]`]:r.map(o=>`    ${t} --> ${o}`));return["stateDiagram-v2",`    [*] --> ${D(n)[0]}`,...e].join(`
`)}i(Mi,"diagram");var Ti=["unknown","terminal","settled","fenced","superseded","held","early","claimed","paused","quarantined","ending","contended"],ji=43e3,re=i(n=>({reason:n,deleteMessage:!0,retryInSeconds:0}),"gone"),oe=i((n,e)=>({reason:n,deleteMessage:!1,retryInSeconds:Math.min(ji,Math.max(1,Math.ceil(e)))}),"back");function Fn(n){return n===void 0?oe("unknown",30):jn(n.runStatus)?re("terminal"):n.deliveryStatus==="SETTLED"?re("settled"):n.deliveryStatus==="FENCED"?re("fenced"):n.seq<n.currentSeq?re("superseded"):n.deliveryStatus==="CLAIMED"?oe("claimed",Math.max(5,n.leaseEndsInSeconds??30)):n.deliveryStatus==="HELD"?oe("held",30):n.quarantined?re("quarantined"):n.paused?re("paused"):n.runStatus!=="QUEUED"&&n.cause!=="contain"?oe("ending",30):n.dueInSeconds>0?oe("early",n.dueInSeconds):oe("contended",2)}i(Fn,"decideSkip");var Gn={};Le(Gn,{Admitted:()=>jt,BatchAdmitted:()=>Wi,BatchItem:()=>Tt,BatchOutcome:()=>Ft,BatchRequest:()=>Ui,Cancelled:()=>Ki,ContainmentItem:()=>Gt,IdempotencyKey:()=>Lt,MAX_BATCH:()=>Ot,MAX_BODY_BYTES:()=>Fi,MAX_PAGE:()=>zi,Problem:()=>Zi,ReasonRequest:()=>Bi,Released:()=>Hi,Resolved:()=>Ji,RunError:()=>zt,RunPage:()=>Qi,RunRequest:()=>Mt,RunSummary:()=>zn,RunView:()=>Vi,Timeline:()=>Yi,TimelineEntry:()=>Ut,WORKFLOW_NAME:()=>Pt,WorkflowList:()=>Xi,WorkflowRef:()=>We,WorkflowView:()=>Wt});import*as l from"zod";var Fi=1048576,Ot=100,zi=200,E=l.iso.datetime(),Pt=/^[a-z0-9][a-z0-9._-]{0,99}$/i,Gi=l.string().regex(Pt,'letters, digits, ".", "_" and "-", at most 100'),Lt=l.string().min(1).max(200).regex(/^[\x21-\x7e]+$/,"printable ASCII without spaces"),Mt=l.strictObject({workflow:Gi.optional(),version:l.int().min(1).max(1e6).optional(),input:l.unknown().optional(),queue:l.string().regex(On).optional(),priority:l.int().min(0).max(9).optional(),agent:l.string().min(1).max(200).optional(),held:l.boolean().optional(),holdFor:l.string().refine(J,'such as "10m"').optional()}),Tt=Mt.extend({idempotencyKey:Lt.optional()}),Ui=l.strictObject({runs:l.array(Tt).min(1).max(Ot)}),We=l.object({name:l.string(),version:l.int(),digest:l.string()}),jt=l.object({runId:l.string(),created:l.boolean(),status:l.enum(D("run")),enqueueSeq:l.int(),workflow:We,queue:l.string(),priority:l.int(),held:l.boolean()}),Ft=l.discriminatedUnion("outcome",[l.object({outcome:l.literal("admitted"),run:jt}),l.object({outcome:l.literal("conflict"),idempotencyKey:l.string(),detail:l.string()})]),Wi=l.object({runs:l.array(Ft)}),Hi=l.object({runId:l.string(),enqueueSeq:l.int(),released:l.boolean()}),Nt=l.object({reason:l.string(),at:E}),zn=l.object({runId:l.string(),workflow:We,status:l.enum(D("run")),queue:l.string(),priority:l.int(),agent:l.string().nullable(),idempotencyKey:l.string().nullable(),requestedBy:l.string(),enqueueSeq:l.int(),steps:l.int(),errorCode:l.string().nullable(),attention:Nt.nullable(),quarantine:Nt.nullable(),pausedAt:E.nullable(),deadlineAt:E.nullable(),createdAt:E,startedAt:E.nullable(),finishedAt:E.nullable()}),zt=l.object({code:l.enum(Nn),name:l.string(),message:l.string(),stack:l.string().optional(),step:l.string().optional()}),Gt=l.object({id:l.string(),kind:l.enum(["worker","effect"]),subject:l.string(),enqueueSeq:l.int(),overAt:E.nullable(),createdAt:E,acknowledgedAt:E.nullable(),acknowledgedBy:l.string().nullable(),acknowledgement:l.string().nullable()}),Bi=l.strictObject({reason:l.string().trim().min(1).max(1e3)}),Ki=l.object({runId:l.string(),cancelled:l.boolean(),status:l.enum(D("run"))}),Ji=l.object({runId:l.string(),item:l.string(),openItems:l.int(),status:l.enum(D("run"))}),Vi=zn.extend({input:l.unknown(),output:l.unknown(),error:zt.nullable(),containment:l.array(Gt)}),Qi=l.object({runs:l.array(zn),nextCursor:l.string().nullable()}),Ut=l.discriminatedUnion("kind",[l.object({kind:l.literal("admitted"),at:E}),l.object({kind:l.literal("delivery"),at:E,enqueueSeq:l.int(),cause:l.enum(Mn),status:l.enum(D("delivery")),dueAt:E}),l.object({kind:l.literal("published"),at:E,enqueueSeq:l.int(),publications:l.int()}),l.object({kind:l.literal("claimed"),at:E,enqueueSeq:l.int(),worker:l.string()}),l.object({kind:l.literal("step"),at:E,enqueueSeq:l.int(),ordinal:l.int(),name:l.string(),nth:l.int(),outcome:l.enum(["ok","error"]),tries:l.int(),startedAt:E}),l.object({kind:l.literal("worker_ended"),at:E,enqueueSeq:l.int(),worker:l.string(),how:l.string()}),l.object({kind:l.literal("settled"),at:E,enqueueSeq:l.int(),outcome:l.enum(Ln)}),l.object({kind:l.literal("fenced"),at:E,enqueueSeq:l.int()}),l.object({kind:l.literal("finished"),at:E,status:l.enum(D("run")),errorCode:l.string().nullable()})]),Yi=l.object({runId:l.string(),status:l.enum(D("run")),entries:l.array(Ut)}),Wt=We.extend({queue:l.string(),onWorkerLoss:l.enum(["resume","fail"]),inputSchema:l.unknown(),outputSchema:l.unknown()}),Xi=l.object({workflows:l.array(Wt)}),Zi=l.object({type:l.string(),title:l.string(),status:l.int(),detail:l.string(),fix:l.string().optional(),requestId:l.string(),errors:l.array(l.object({path:l.string(),message:l.string()})).optional()});var xo={};Le(xo,{DEFAULT_APPLICATION_ROLE:()=>tt,DEFAULT_SCHEMA:()=>ie,DRIVERS:()=>nr,LedgerError:()=>b,createRoles:()=>bo,executorOn:()=>Ke,inCallersTransaction:()=>Je,migrate:()=>wo,migrationSql:()=>ho,openLedger:()=>po,readRunsById:()=>He,readRunsByKey:()=>ae,rolesSql:()=>ot});var Bt=new Map,ie="ghouls",es=/^[a-z_][a-z0-9_]{0,39}$/;function _(n,e){return Kt({name:n,text:Jt(n,e),writes:!1})}i(_,"readStatement");function y(n,e){return Kt({name:n,text:Jt(n,e),writes:!0})}i(y,"writeStatement");function Kt(n){if(Bt.has(n.name))throw new TypeError(`two statements are called ${n.name}`);return Bt.set(n.name,n),n}i(Kt,"listed");function Jt(n,e){return`/* ${n} */
${e.trim()}`}i(Jt,"tagged");function se(n,e){if(!es.test(n))throw new TypeError(`${e} "${n.slice(0,60)}" is not taken: use lower-case letters, digits and "_", at most 40`)}i(se,"assertIdentifier");function V(n,e){return se(e,"the schema name"),n.replace(/\bghouls\./g,`${e}.`)}i(V,"bindSchema");function f(n){let e=i((a,d)=>new TypeError(`column ${a} is ${typeof n[a]}, ${d} was expected`),"fail"),t=i(a=>{let d=n[a];if(typeof d!="string")throw e(a,"text");return d},"text"),r=i(a=>{let d=n[a],u=typeof d=="string"?Number(d):d;if(typeof u!="number"||!Number.isFinite(u))throw e(a,"a number");return u},"number"),o=i(a=>{let d=n[a];if(!(d instanceof Date))throw e(a,"a time");return d},"date"),s=i(a=>d=>n[d]===null?null:a(d),"orNull");return{text:t,textOrNull:s(t),number:r,numberOrNull:s(r),boolean:i(a=>{let d=n[a];if(typeof d!="boolean")throw e(a,"a boolean");return d},"boolean"),date:o,dateOrNull:s(o)}}i(f,"rows");var ns=y("runs.admit",`
with bound as materialized (
  select set_config('lock_timeout', $1::text, true) as lock_timeout
), request as materialized (
  select t.* from bound, unnest(
    $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::smallint[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::double precision[], $17::boolean[],
    $18::double precision[], $20::text[]
  ) with ordinality as t(tenant_id, run_id, idempotency_key, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, agent, requested_by, requested_roles, input_text, input_digest, deadline_ms, held, hold_ms, on_worker_loss, position)
  where bound.lock_timeout is not null
  order by t.tenant_id, t.idempotency_key, t.position
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
    workflow_version, workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq,
    input_text, input_digest, deadline_at, created_at, on_worker_loss)
  select q.tenant_id, q.run_id, q.run_id, q.idempotency_key, q.request_digest, q.workflow_name, q.workflow_version,
    q.workflow_digest, q.queue, q.priority, q.agent, q.requested_by,
    array(select jsonb_array_elements_text(q.requested_roles::jsonb)), 'QUEUED', 1, q.input_text, q.input_digest,
    ghouls.clock() + q.deadline_ms * interval '1 millisecond', ghouls.clock(), q.on_worker_loss
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
select run_id from delivery`),Vt=`run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished`,ts=_("runs.by-key",`
select ${Vt}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`),rs=_("runs.by-id",`
select ${Vt}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`);async function Un(n,e,t){let r=i(s=>e.map(s),"column"),o=await n.run(ns,[String(t.lockTimeoutMs),r(s=>s.tenantId),r(s=>s.runId),r(s=>s.idempotencyKey),r(s=>s.requestDigest),r(s=>s.workflow.name),r(s=>s.workflow.version),r(s=>s.workflow.digest),r(s=>s.queue),r(s=>s.priority),r(s=>s.agent),r(s=>s.requestedBy),r(s=>JSON.stringify(s.requestedRoles)),r(s=>s.inputText),r(s=>s.inputDigest),r(s=>s.deadlineMs),r(s=>s.held),r(s=>s.holdMs),t.publisherGraceSeconds,r(s=>s.onWorkerLoss)]);return new Set(o.map(s=>s.run_id))}i(Un,"insertRunsIfKeyIsNew");async function ae(n,e){return(await n.run(ts,[e.map(r=>r.tenantId),e.map(r=>r.idempotencyKey)])).map(Qt)}i(ae,"readRunsByKey");async function He(n,e){return(await n.run(rs,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).map(Qt)}i(He,"readRunsById");function Qt(n){let e=f(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),idempotencyKey:e.textOrNull("idempotency_key"),requestDigest:e.text("request_digest"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},queue:e.text("queue"),priority:e.number("priority"),status:e.text("status"),enqueueSeq:e.number("enqueue_seq"),held:e.boolean("held"),unpublished:e.boolean("unpublished")}}i(Qt,"admittedRun");var os=y("deliveries.release",`
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
  and r.status = 'QUEUED' and d.status = 'HELD' and d.hold_expires_at > ghouls.clock()
returning d.run_id`);async function Yt(n,e,t){return(await n.run(os,[e.tenantId,e.runId,t])).length===1}i(Yt,"releaseDeliveryIfHeld");var ss={retry:"ledger_unavailable",busy:"admission_busy",unavailable:"ledger_unavailable",unknown:"outcome_unknown",schema:"schema_outdated",defect:"internal"},as={retry:"Try again.",busy:"Try again: another transaction holds the same key.",unavailable:"Try again once PostgreSQL answers; check DATABASE_URL (or the secret) and the role's limits.",unknown:"Ask again under the same idempotency key: the answer tells whether it was committed.",schema:"Run `ghouls migrate` with the migrator's connection string."};function ds(n,e){let t=(e instanceof g?e.fix:void 0)??as[n];return t===void 0?{}:{fix:t}}i(ds,"fixOf");var b=class extends g{static{i(this,"LedgerError")}kind;sqlState;statement;constructor(e,t,r,o){super(ss[e],`the ledger could not carry out ${t} (${e}${r?`, SQLSTATE ${r}`:""})`,{...ds(e,o),...e==="defect"||e==="schema"?{}:{retryAfterSeconds:2},cause:o}),this.name="LedgerError",this.kind=e,this.sqlState=r,this.statement=t}},Xt=new Set(["42P05","26000"]),us=new Set(["40001","40P01",...Xt]),ls=new Set(["25006","53000","53100","53200","53300","57014","25P03"]),cs=new Set(["42P01","42703","42883","3F000"]);function H(n,e){let t=Re(n);return t===void 0?{kind:e?"unknown":"unavailable",sqlState:t}:us.has(t)||Be(n)?{kind:"retry",sqlState:t}:t==="55P03"?{kind:"busy",sqlState:t}:ls.has(t)?{kind:"unavailable",sqlState:t}:t.startsWith("57P")||t.startsWith("08")?{kind:e?"unknown":"unavailable",sqlState:t}:cs.has(t)?{kind:"schema",sqlState:t}:{kind:"defect",sqlState:t}}i(H,"classify");function Zt(n){return n!==void 0&&Xt.has(n)}i(Zt,"isNameRefused");function er(n){return/^(?:57P|08)/.test(n)||n==="25P03"||n==="25P04"}i(er,"hasEnded");function Be(n){return Re(n)==="0A000"&&n instanceof Error&&"routine"in n&&n.routine==="RevalidateCachedQuery"}i(Be,"isPlanStale");function Re(n){if(typeof n!="object"||n===null||!("code"in n))return;let{code:e}=n;return typeof e=="string"&&/^[0-9A-Z]{5}$/.test(e)&&/\d/.test(e)?e:void 0}i(Re,"sqlStateOf");var ms=_("caller.state",`
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`),fs=y("caller.restore","select set_config('lock_timeout', $1::text, true) as lock_timeout");function Ke(n,e){return{run:i(async(t,r)=>{try{return(await n.query(V(t.text,e),[...r])).rows}catch(o){let{kind:s,sqlState:a}=H(o,!1);throw new b(s,t.name,a,o)}},"run")}}i(Ke,"executorOn");async function Je(n,e){let[t]=await n.run(ms,[]),r=String(t?.isolation);if(r!=="read committed")throw new g("wrong_transaction",`an admission inside a ${r.toUpperCase()} transaction is refused`,{fix:"Use READ COMMITTED for the transaction that admits."});if(t?.begins_transaction===!0)throw new g("wrong_transaction","this connection is not inside a transaction",{fix:"Send BEGIN first, and COMMIT after your own statements; then publish the receipt."});let o=await e();return await n.run(fs,[String(t?.lock_timeout)]),o}i(Je,"inCallersTransaction");var nr=["pg","neon"];function Ve(n){n.on("connect",e=>{e.on("error",()=>{})}),n.on("error",()=>{})}i(Ve,"surviveLostConnections");import{createHash as xs}from"node:crypto";import{parseIntoClientConfig as ps}from"pg-connection-string";function tr(n){if(!/^postgres(?:ql)?:\/\//i.test(n))throw Wn(/^[a-z][a-z\d+.-]*:\/\//i.test(n)?"has another scheme than postgres://":"is no URL");let e;try{e=ps(n)}catch(t){throw Wn(gs(n,t))}if(e.port!==void 0&&!or(e.port))throw Wn(rr);return e}i(tr,"addressOf");var rr="has a port that is no number from 1 to 65535";function gs(n,e){if(e instanceof Error&&"path"in e&&"code"in e)return`names the file ${String(e.path)}, which cannot be read (${String(e.code)})`;let t=/^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(n)?.[1]??"",r=/:([^:\]]*)$/.exec(t)?.[1];return r!==void 0&&r!==""&&!or(Number(r))?rr:"cannot be read"}i(gs,"whyUnreadable");function or(n){return Number.isInteger(n)&&n>=1&&n<=65535}i(or,"isPort");function Wn(n){return new g("configuration_invalid",`the connection string ${n}`,{fix:"Write postgres://user:password@host:port/database, with / ? # % and @ in a password as %2F %3F %23 %25 and %40."})}i(Wn,"invalid");async function ir(n){let e=await import("@neondatabase/serverless");class t extends e.Client{static{i(this,"Client")}constructor(o){super(o),n!==void 0&&(this.neonConfig.wsProxy=n,this.neonConfig.useSecureWebSocket=!1,this.neonConfig.pipelineTLS=!1,this.neonConfig.pipelineConnect=!1,this.neonConfig.coalesceWrites=!1)}}return r=>{let o=new e.Pool(r);return o.Client=t,Ve(o),o}}i(ir,"neonPool");import ys from"pg";var sr=i(n=>{let e=new ys.Pool(n);return Ve(e),e},"openPgPool");var Qe=class{static{i(this,"Patience")}#e;#n;#t=new AbortController;constructor(e,t){this.#e=t,this.#n=setTimeout(()=>this.#t.abort(),e)}get over(){return this.#t.signal.aborted}end(){clearTimeout(this.#n)}async allows(e,t=400){if(this.over)return!1;let r=Math.min(t,50*2**(e-1))*(.5+this.#e());return await this.bound(new Promise(o=>setTimeout(o,r))),!this.over}async bound(e){if(this.over)return e;let{signal:t}=this.#t,r,o=new Promise(s=>{r=i(()=>s(void 0),"stop"),t.addEventListener("abort",r,{once:!0})});try{return await Promise.race([e,o])}finally{r!==void 0&&t.removeEventListener("abort",r)}}};var _s=new Set(["ECONNREFUSED","ECONNRESET","ETIMEDOUT","EPIPE","EHOSTUNREACH","ENETUNREACH","EAI_AGAIN"]),hs=/^Connection terminated|timeout expired|timeout exceeded when trying to connect/i;function ar(n){if(Hn(n))return!1;let e=Re(n);return e!==void 0?e==="57P03"||e==="53300"||e.startsWith("08"):n instanceof Error?"code"in n&&typeof n.code=="string"?_s.has(n.code):hs.test(n.message):!0}i(ar,"mayComeSoon");var ws=/\bauthentication failed\b/i;function Hn(n){let e=Re(n);return e==="08P01"?n instanceof Error&&ws.test(n.message):e==="28P01"||e==="28000"}i(Hn,"isRefused");var ks=2e3,de=class{static{i(this,"Connections")}#e;#n;#t;#r;#i;#s=new Set;#o;constructor(e){this.#e=e,this.#n=e.maxConnections??2,this.#t=e.chance??(()=>.5)}patience(){return new Qe(this.#e.connectPatienceMs??1e4,this.#t)}async connect(e,t){let r=0,o=new Error("no connection in time");for(let s=1;;s+=1){let a,d=!1;try{a=await this.#a(this.#m(),t),d=this.#d(a);let u=await this.#p(a,t);if(u!==void 0)return u}catch(u){if(o=u,a!==void 0&&Hn(u)){if(r+=1,await this.#a(this.#_(a),t).catch(Bn(e))&&r===1||this.#c&&await t.allows(s,ks))continue;return Bn(e)(u)}if(a!==void 0&&a.state!=="current"||!(a!==void 0&&d&&this.#d(a))&&ar(u)&&await t.allows(s))continue}return Bn(e)(o)}}async#a(e,t){if(!this.#c)return e;let r=await t.bound(e.then(o=>({value:o})));if(r===void 0)throw bs();return r.value}get#c(){return typeof this.#e.connectionString!="string"}#d(e){return e.held>=this.#n}async#p(e,t){e.waiting+=1;let r=e.pool.connect().finally(()=>{e.waiting-=1,this.#u(e)}),o=await t.bound(r);if(o===void 0){r.then(s=>s.release(!1),()=>{});return}return e.held+=1,{keepsNames:e.keepsNames,query:i(s=>o.query(s),"query"),release:i(s=>{e.held-=1,o.release(s)},"release")}}async#m(){this.#w(),this.#r??=this.#g().then(t=>this.#f(t));let e=this.#r;try{return await e}catch(t){throw this.#r===e&&(this.#r=void 0),t}}async#g(){let{connectionString:e}=this.#e;if(typeof e=="string")return e;let t=this.patience();try{return await this.#a(e(),t)}finally{t.end()}}async#f(e){let{driver:t="pg",neonProxy:r,password:o}=this.#e,s=tr(e),a=t==="neon"?await ir(r):sr;this.#w();let d=a({application_name:this.#e.applicationName??"ghouls",query_timeout:this.#e.answerTimeoutMs??2e4,...s,...o===void 0?{}:{password:o},max:this.#n,connectionTimeoutMillis:this.#e.connectTimeoutMs??5e3,idleTimeoutMillis:3e4,allowExitOnIdle:!0}),u=t==="pg"&&!/-pooler\b/.test(s.host??""),c={connectionString:e,pool:d,keepsNames:u,waiting:0,held:0,state:"current",ending:void 0};return this.#s.add(c),c}async#_(e){return e.state!=="current"?!0:this.#c?(this.#i??=this.#h(e).finally(()=>{this.#i=void 0}),this.#i):!1}async#h(e){let t=await this.#g();if(t===e.connectionString)return!1;let r=await this.#f(t);return e.state="replaced",this.#r=Promise.resolve(r),this.#u(e),!0}#u(e){e.state!=="replaced"||e.waiting>0||this.#y(e)}#y(e){return e.state="ended",e.ending??=e.pool.end().finally(()=>this.#s.delete(e)),e.ending}#w(){if(this.#o!==void 0)throw new Error("the ledger has been closed")}close(){return this.#o??=this.#l(),this.#o}async#l(){await Promise.all([...this.#s].map(e=>this.#y(e)))}};function bs(){return new Error("the connection string was not fetched in time")}i(bs,"unfetched");function Bn(n){return e=>{throw e instanceof b?e:new b("unavailable",n,H(e,!1).sqlState,e)}}i(Bn,"unavailable");var Es=4,Ye=class{static{i(this,"Database")}schema;#e;#n;#t;#r;#i=new Map;#s=!1;constructor(e){this.schema=e.schema??ie,V("",this.schema),this.#n=e.preparedStatements,this.#t=e.faults??En,this.#r=e.chance??(()=>.5),this.#e=new de(e)}async run(e,t){let r=this.#e.patience(),o=!1,s=!0,a=i(d=>o&&d instanceof b&&d.kind!=="unknown"?new b("unknown",e.name,d.sqlState,d):d,"asTold");try{for(let d=1;;d+=1){let u=await this.#e.connect(e.name,r).catch(c=>{throw a(c)});try{return await this.#o(u,e,t,s)}catch(c){if(c instanceof b&&Be(c.cause)&&(s=!1),o||=c instanceof b&&c.kind==="unknown",!(c instanceof b)||!ur(c)||d>=lr(c))throw a(c);await this.#m(d)}}}finally{r.end()}}async#o(e,t,r,o){let s=!0;try{let a=await this.#a(e,t,r,o);return s=!1,a}catch(a){throw s=dr(a),a}finally{e.release(s)}}async#a(e,t,r,o=!0){try{await this.#t("ledger.before-statement",t.name);let{text:s,name:a}=this.#c(t),d=o&&!this.#s&&(this.#n??e.keepsNames),u=await e.query({text:s,values:[...r],...d?{name:a}:{}});return await this.#t("ledger.after-statement",t.name),u.rows}catch(s){let{kind:a,sqlState:d}=H(s,t.writes);throw Zt(d)&&(this.#s=!0),new b(a,t.name,d,s)}}#c(e){let t=this.#i.get(e.name);if(t===void 0){let r=V(e.text,this.schema),o=xs("sha256").update(r).digest("hex").slice(0,12);t={text:r,name:`${e.name}:${o}`},this.#i.set(e.name,t)}return t}async transaction(e,t){let r=await this.#d(e),o=!0;try{let s=await t({run:i((a,d)=>this.#a(r,a,d),"run")});return await this.#p(r,e),o=!1,s}catch(s){throw o=dr(s)||await r.query("rollback").then(()=>!1,()=>!0),s}finally{r.release(o)}}async#d(e){let t=this.#e.patience();try{for(let r=1;;r+=1){let o=await this.#e.connect(e,t);try{return await o.query("begin isolation level read committed"),o}catch(s){o.release(!0);let{kind:a,sqlState:d}=H(s,!1),u=new b(a,`${e}: begin`,d,s);if(!ur(u)||r>=lr(u))throw u;await this.#m(r)}}}finally{t.end()}}async#p(e,t){let r;try{await this.#t("ledger.before-commit",t),r=(await e.query("commit")).command,await this.#t("ledger.after-commit",t)}catch(o){let{kind:s,sqlState:a}=H(o,!0);throw new b(s,`${t}: commit`,a,o)}if(r!=="COMMIT")throw new b("defect",`${t}: commit answered ${r}`,void 0,void 0)}#m(e){let t=25*4**(e-1)*(.5+this.#r());return new Promise(r=>setTimeout(r,t))}async close(){await this.#e.close()}};function dr(n){return n instanceof b?n.sqlState===void 0||er(n.sqlState)||Be(n.cause):!1}i(dr,"isOfNoUse");function ur(n){return n.kind!=="defect"&&n.kind!=="schema"&&n.kind!=="busy"}i(ur,"isRepeatable");function lr(n){return n.cause instanceof Error&&/read timeout/i.test(n.cause.message)||n.sqlState==="57014"?2:Es}i(lr,"triesOf");var cr={number:1,name:"runs",sql:`
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
`};var mr={number:2,name:"containment",sql:`
alter table ghouls.runs
  add column on_worker_loss text not null default 'fail' check (on_worker_loss in ('resume', 'fail')),
  add column losses integer not null default 0 check (losses >= 0),
  add column idle_yields integer not null default 0 check (idle_yields >= 0),
  add column generation integer not null default 0 check (generation >= 0),
  add column open_items integer not null default 0 check (open_items >= 0),
  add column cancel_reason text,
  add column cancelled_by text,
  add constraint runs_contained check (status not in ('DONE', 'FAILED', 'CANCELLED') or open_items = 0);

create index runs_endable on ghouls.runs (created_at)
  where status in ('COMPLETING', 'FAILING', 'CANCELLING') and open_items = 0;

create table ghouls.checkpoints (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  workflow_digest text not null,
  journal_length integer not null,
  journal_digest text not null,
  created_at timestamptz not null,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);

create table ghouls.containment_items (
  tenant_id text not null,
  run_id uuid not null,
  kind text not null check (kind in ('worker', 'effect')),
  key text not null,
  seq integer not null,
  token uuid not null,
  worker text not null,
  over_at timestamptz,
  created_at timestamptz not null,
  next_look_at timestamptz not null,
  tries integer not null default 0,
  last_error text,
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledgement text,
  primary key (tenant_id, run_id, kind, key),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint containment_items_acknowledged check (num_nulls(acknowledged_at, acknowledged_by) <> 1)
);
comment on column ghouls.containment_items.over_at is
  'When nothing of it can still act; null where only its worker, a supervisor or an operator can tell.';
create index containment_items_due on ghouls.containment_items (next_look_at) where acknowledged_at is null;
create index containment_items_by_worker on ghouls.containment_items (worker)
  where acknowledged_at is null and kind = 'worker';

create table ghouls.intents (
  tenant_id text not null,
  run_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  number integer not null check (number >= 1),
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  outcome text check (outcome in ('happened', 'not_done', 'cannot_happen', 'failed', 'resolved')),
  outcome_at timestamptz,
  primary key (tenant_id, run_id, epoch, scope, kind, name, nth, number),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint intents_outcome check (num_nulls(outcome, outcome_at) <> 1)
);
comment on table ghouls.intents is 'An effect that happens once: committed before its call. Without an outcome nobody knows.';
create unique index intents_one_open on ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth)
  where outcome is null;

create table ghouls.evidence (
  tenant_id text not null,
  run_id uuid not null,
  evidence_id uuid not null,
  class text not null check (class in ('rejected')),
  seq integer not null,
  token uuid not null,
  call text not null,
  outcome text not null,
  body_text text,
  body_digest text,
  recorded_at timestamptz not null,
  primary key (tenant_id, run_id, evidence_id)
);
comment on table ghouls.evidence is
  'What came from a worker that had been fenced. Written without the lock of its run, so it has no reference to it.';

create table ghouls.audit (
  tenant_id text not null,
  run_id uuid not null,
  audit_id uuid not null,
  actor text not null,
  act text not null,
  subject text not null,
  reason text not null,
  at timestamptz not null,
  primary key (tenant_id, run_id, audit_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id)
);
comment on table ghouls.audit is 'Operators acts, append only.';
`};var fr={number:3,name:"doctor",sql:`
create view ghouls.doctor_open_deliveries as
select d.tenant_id, d.run_id, d.seq, d.status as delivery_status, d.cause, run.status as run_status
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and (d.seq <> run.enqueue_seq or not (
  (d.status in ('HELD', 'PENDING') and run.status = 'QUEUED')
  or (d.status = 'CLAIMED' and run.status in ('RUNNING', 'AWAITING_HARDWARE'))
  or (d.cause = 'contain' and run.status in ('COMPLETING', 'FAILING', 'CANCELLING'))));

create view ghouls.doctor_working_runs as
select run.tenant_id, run.run_id, run.status, run.enqueue_seq
from ghouls.runs run
where run.status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq and d.status in ('HELD', 'PENDING', 'CLAIMED'));

create view ghouls.doctor_terminal_runs as
select run.tenant_id, run.run_id, run.status, d.seq, null::text as item, null::text as effect
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, i.kind || ' ' || i.key, null
from ghouls.containment_items i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.acknowledged_at is null and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, null, i.name
from ghouls.intents i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.outcome is null and run.status in ('DONE', 'FAILED', 'CANCELLED');

create view ghouls.doctor_pending_deliveries as
select d.tenant_id, d.run_id, d.seq, d.due_at
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'PENDING' and d.next_publication_at is null and run.paused_at is null and run.quarantined_at is null;

create view ghouls.doctor_journals as
select run.tenant_id, run.run_id, run.status, run.journal_length, count(j.ordinal) as entries
from ghouls.runs run
left join ghouls.journal j on j.tenant_id = run.tenant_id and j.run_id = run.run_id
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(j.ordinal) <> run.journal_length;

create view ghouls.doctor_open_items as
select run.tenant_id, run.run_id, run.status, run.open_items, count(i.key) as items
from ghouls.runs run
left join ghouls.containment_items i
  on i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(i.key) <> run.open_items;

create view ghouls.doctor_endings as
select run.tenant_id, run.run_id, run.status, run.open_items
from ghouls.runs run
where run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and run.open_items = 0
  and (run.quarantined_at is null or run.status = 'CANCELLING') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED');

create view ghouls.doctor_lost_claims as
select d.tenant_id, d.run_id, d.seq, d.claimed_by, d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end
from ghouls.deliveries d
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() - interval '5 minutes';

create view ghouls.doctor_quarantined_runs as
select run.tenant_id, run.run_id, run.status, run.quarantine_reason, run.quarantined_at
from ghouls.runs run
where run.quarantined_at is not null;

create view ghouls.doctor_runs_with_attention as
select run.tenant_id, run.run_id, run.status, run.attention_reason, run.attention_at
from ghouls.runs run
where run.attention_at is not null and run.status not in ('DONE', 'FAILED', 'CANCELLED');
`};var pr={number:4,name:"holds",sql:`
create index deliveries_by_hold on ghouls.deliveries (hold_expires_at) where status = 'HELD';
`};var gr={number:5,name:"overlap",sql:`
alter table ghouls.runs add column workflow_absent_since timestamptz;
comment on column ghouls.runs.workflow_absent_since is
  'The first give-back in a row by a build without the workflow of this run; null once a hop has started.';
`};var ue=[cr,mr,fr,pr,gr];var Is=[j("integrity","open deliveries agree with their run","doctor_open_deliveries"),j("integrity","working runs have an open delivery","doctor_working_runs"),j("integrity","terminal runs have nothing open","doctor_terminal_runs"),j("integrity","pending deliveries have a next publication","doctor_pending_deliveries"),j("integrity","journals are as long as their runs say","doctor_journals"),j("integrity","runs know how many items are open","doctor_open_items"),j("integrity","ending runs have something left to contain","doctor_endings"),j("attention","no lost claim waits for its judgement","doctor_lost_claims"),j("attention","no run is quarantined","doctor_quarantined_runs"),j("attention","no open run asks for a person","doctor_runs_with_attention")];function j(n,e,t){return{kind:n,check:e,statement:_(t.replace("_",".").replaceAll("_","-"),`select * from ghouls.${t}
limit 100`)}}i(j,"view");var Ss=_("doctor.schema-version","select coalesce(max(number), 0) as version from ghouls.migrations");async function Kn(n){let[e]=await n.run(Ss,[]);return{applied:Number(e?.version??0),known:ue.at(-1)?.number??0}}i(Kn,"readSchemaVersion");async function yr(n){let e=await Kn(n),t=[{check:"the schema is up to date",kind:"integrity",ok:e.applied===e.known,rows:e.applied===e.known?[]:[e]}];for(let{check:r,kind:o,statement:s}of Is){let a=await n.run(s,[]);t.push({check:r,kind:o,ok:a.length===0,rows:a})}return t}i(yr,"examine");var B="json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";var vs=`r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at, run.open_items, run.generation, run.idle_yields
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;function $(n){return`${vs}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.acts_until, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes,
    r.open_items, r.generation, r.idle_yields
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${k(n)}) and (r.quarantined_at is null or r.status = 'CANCELLING')
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`}i($,"heldBy");var P=["RUNNING","AWAITING_HARDWARE"];function Ae(n,e){return _r(n,te("run",e))}i(Ae,"runMayBecome");function Xe(n,e){return _r(n,te("delivery",e))}i(Xe,"deliveryMayBecome");function _r(n,e){return e.length===0?"false":`${n} in (${k(e)})`}i(_r,"oneOf");var R=["COMPLETING","FAILING","CANCELLING"];var qs=_("runs.lock",`
select run.tenant_id, run.run_id, run.status
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
order by run.run_id
for update of run`);async function L(n,e){let t=await n.run(qs,[e.map(r=>r.tenantId),e.map(r=>r.runId)]);return new Map(t.map(r=>[f(r).text("run_id"),f(r).text("status")]))}i(L,"lockRuns");var Cs=y("runs.end-if-contained",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${k(R)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null)
  for update
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status in (${k(Tn.filter(n=>n!=="CLAIMED"))})
  returning d.run_id
)
update ghouls.runs run
set status = case r.status when 'COMPLETING' then 'DONE' when 'FAILING' then 'FAILED' else 'CANCELLED' end,
  finished_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  and (select count(*) from fenced) >= 0
returning run.status`);async function F(n,e){let[t]=await n.run(Cs,[e.tenantId,e.runId]);return t===void 0?null:f(t).text("status")}i(F,"endRunIfContained");var Rs=y("deliveries.yield",`
with ${$(P)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1,
    idle_yields = case when $8::boolean then run.idle_yields + 1 else 0 end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $9::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),As=y("deliveries.give-back",`
with ${$(P)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.checkpoint_generation, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1,
    workflow_absent_since = case when $6::boolean then coalesce(run.workflow_absent_since, settled.settled_at)
      else run.workflow_absent_since end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, settled.checkpoint_generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  moved.checkpoint_generation, greatest(ghouls.clock(), $5::timestamptz), greatest(ghouls.clock(), $5::timestamptz),
  ghouls.clock()
from moved
returning seq, queue`),Ds=y("deliveries.due-now",`
with waiting as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  join ghouls.deliveries before on before.tenant_id = d.tenant_id and before.run_id = d.run_id and before.seq = d.seq - 1
  where d.tenant_id = $1 and d.run_id = $2 and d.status = 'PENDING' and before.outcome = 'given_back'
    and d.due_at > ghouls.clock()
  for update of d
)
update ghouls.deliveries d
set due_at = ghouls.clock(), next_publication_at = ghouls.clock()
from waiting
where d.tenant_id = waiting.tenant_id and d.run_id = waiting.run_id and d.seq = waiting.seq
returning d.seq`),$s=y("runs.clear-absence",`
with ${$(P)}
update ghouls.runs run
set workflow_absent_since = null
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id
returning run.run_id`),Ns=_("deliveries.handed-over",`
select next.seq, next.queue
from ghouls.deliveries d
join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED' and d.outcome = $5`),Os=_("checkpoints.read",`
select c.generation, c.workflow_digest, c.journal_length, c.journal_digest
from ghouls.checkpoints c
where c.tenant_id = $1 and c.run_id = $2 and c.generation = $3`);async function hr(n,e,t,r){let{workflowDigest:o,journalLength:s,journalDigest:a}=t,[d]=await n.run(Rs,[...Ze(e),o,s,a,r.idle,r.publisherGraceSeconds]);return d===void 0?xr(n,e,"continued"):Jn(d)}i(hr,"yieldDeliveryIfClaimed");async function wr(n,e,t,r=!1){let[o]=await n.run(As,[...Ze(e),t,r]);return o===void 0?xr(n,e,"given_back"):Jn(o)}i(wr,"giveDeliveryBackIfClaimed");async function kr(n,e){return(await n.run($s,Ze(e))).length===1}i(kr,"clearAbsenceIfClaimed");async function br(n,e,t){let[r]=await n.run(Os,[e.tenantId,e.runId,t]);if(r===void 0)return null;let o=f(r);return{workflowDigest:o.text("workflow_digest"),journalLength:o.number("journal_length"),journalDigest:o.text("journal_digest")}}i(br,"readCheckpoint");async function xr(n,e,t){let[r]=await n.run(Ns,[...Ze(e),t]);return r===void 0?null:Jn(r)}i(xr,"handedOver");function Jn(n){return{enqueueSeq:f(n).number("seq"),queue:f(n).text("queue")}}i(Jn,"nextOf");function Ze(n){return[n.tenantId,n.runId,n.seq,n.token]}i(Ze,"keyOf");async function en(n,e){await n.run(Ds,[e.tenantId,e.runId])}i(en,"makeGivenBackDue");var Ls=y("items.acknowledge",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
    and ($7::uuid is null or i.token = $7)
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $5, acknowledgement = $6
  from item
  where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
  returning i.tenant_id, i.run_id, i.kind, i.key
), known as (
  update ghouls.intents i
  set outcome = 'resolved', outcome_at = ghouls.clock()
  from acknowledged a
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${B} = a.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
returning run.open_items`),Ms=y("audit.record",`
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),Ts=_("deliveries.holds",`
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`),js=y("deliveries.over-now",`
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`);async function Vn(n,e,t,r){return n.transaction("items.acknowledge",async o=>{await L(o,[e]);let{kind:s,key:a,by:d,words:u,token:c,under:m}=t;if(m!==void 0&&(await o.run(Ts,[m.tenantId,m.runId,m.seq,m.token])).length===0)return null;let[p]=await o.run(Ls,[e.tenantId,e.runId,s,a,d,u,c??null]);if(p===void 0)return null;if(s==="worker"&&await en(o,e),r!==void 0){let w=`${s} ${a}`;await o.run(Ms,[e.tenantId,e.runId,r.actor,"resolve",w,r.reason])}return{openItems:f(p).number("open_items"),ended:await F(o,e)}})}i(Vn,"acknowledgeItem");async function Er(n,e){let t=await Vn(n,e,{kind:"worker",key:String(e.seq),by:"worker",words:"its worker ended the hop: no step is in flight",token:e.token});return t!==null?t:(await n.run(js,[e.tenantId,e.runId,e.seq,e.token]),null)}i(Er,"acknowledgeWorker");var zs=y("deliveries.beat",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[]) as q(tenant_id, run_id, seq, token)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq and d.token = q.token
  where d.status = 'CLAIMED'
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $5::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id, d.seq`);async function Ir(n,e,t){let r=await n.run(zs,[e.map(o=>o.tenantId),e.map(o=>o.runId),e.map(o=>o.seq),e.map(o=>o.token),t]);return new Set(r.map(o=>`${f(o).text("run_id")}:${f(o).number("seq")}`))}i(Ir,"beatIfClaimed");var Us=y("runs.cancel",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${k(te("run","CANCELLING"))})
  for update
), open as materialized (
  select d.tenant_id, d.run_id, d.seq, d.status, d.token, d.claimed_by,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $5::double precision * interval '1 second') end as over_at
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id
  where d.status in ('HELD', 'PENDING', 'CLAIMED')
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from open
  where d.tenant_id = open.tenant_id and d.run_id = open.run_id and d.seq = open.seq
  returning d.run_id
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select open.tenant_id, open.run_id, 'worker', open.seq::text, open.seq, open.token, open.claimed_by, open.over_at,
    ghouls.clock(), coalesce(open.over_at, ghouls.clock())
  from open
  where open.status = 'CLAIMED'
  returning run_id
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${B}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.outcome is null
  join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
)
update ghouls.runs run
set status = 'CANCELLING', cancelled_by = $3, cancel_reason = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function Sr(n,e,t,r){return n.transaction("runs.cancel",async o=>{let s=(await L(o,[e])).get(e.runId);if(s===void 0)return null;let[a]=await o.run(Us,[e.tenantId,e.runId,t.actor,t.reason,r]);return a===void 0?{cancelled:!1,status:s}:{cancelled:!0,status:await F(o,e)??f(a).text("status")}})}i(Sr,"cancelRun");var Hs=y("evidence.reject",`
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at)
select d.tenant_id, d.run_id, gen_random_uuid(), 'rejected', d.seq, d.token, $5, $6, $7, $8, ghouls.clock()
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`);async function vr(n,e,t){let{call:r,outcome:o,bodyText:s,bodyDigest:a}=t;await n.run(Hs,[e.tenantId,e.runId,e.seq,e.token,r,o,s,a])}i(vr,"recordRejectedResult");var Ks={micros:"0",runId:"00000000-0000-0000-0000-000000000000"},le=i(n=>`(extract(epoch from ${n}) * 1000000)::bigint as micros`,"microsOf"),Q=i((n,e,t)=>`(${n}, ${e}) > (timestamptz 'epoch' + $${t}::bigint * interval '1 microsecond', $${t+1}::uuid)`,"behind");function ce(n){let{micros:e,runId:t}=n??Ks;return[e,t]}i(ce,"positionOf");function me(n,e,t){let r=n.length<e?void 0:n.at(-1);return{found:n.map(t),next:r&&{micros:f(r).text("micros"),runId:f(r).text("run_id")}}}i(me,"pageOf");var Js=_("deliveries.expired-holds",`
select d.tenant_id, d.run_id, d.hold_expires_at, ${le("d.hold_expires_at")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'HELD' and d.hold_expires_at <= ghouls.clock() and run.status = 'QUEUED' and run.quarantined_at is null
  and ${Q("d.hold_expires_at","d.run_id",2)}
order by d.hold_expires_at, d.run_id
limit $1`),Vs=y("deliveries.expire-holds",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q(tenant_id, run_id, error_text, error_digest)
), expired as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.error_text, wanted.error_digest
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
  where ${Ae("run.status","FAILING")} and run.quarantined_at is null
    and d.status = 'HELD' and ${Xe("d.status","FENCED")} and d.hold_expires_at <= ghouls.clock()
  order by d.run_id
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from expired
  where d.tenant_id = expired.tenant_id and d.run_id = expired.run_id and d.seq = expired.seq
  returning d.tenant_id, d.run_id
)
update ghouls.runs run
set status = 'FAILING', error_code = 'hold_expired', error_text = expired.error_text, error_digest = expired.error_digest
from fenced
join expired on expired.tenant_id = fenced.tenant_id and expired.run_id = fenced.run_id
where run.tenant_id = fenced.tenant_id and run.run_id = fenced.run_id
returning run.tenant_id, run.run_id, run.status`);async function qr(n,e,t){let r=await n.run(Js,[e,...ce(t)]);return me(r,e,o=>({...Rr(o),expiredAt:f(o).date("hold_expires_at")}))}i(qr,"readExpiredHolds");async function Cr(n,e){return e.length===0?[]:n.transaction("deliveries.expire-holds",async t=>{await L(t,e);let r=await t.run(Vs,[e.map(s=>s.tenantId),e.map(s=>s.runId),e.map(s=>s.errorText),e.map(s=>s.errorDigest)]),o=[];for(let s of r){let a=Rr(s),d=f(s).text("status");o.push({...a,status:await F(t,a)??d})}return o})}i(Cr,"expireHolds");function Rr(n){return{tenantId:f(n).text("tenant_id"),runId:f(n).text("run_id")}}i(Rr,"keyOf");var Ys=y("intents.open",`
with ${$(P)}
insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
from held
on conflict do nothing
returning number`),Xs=_("intents.of-call",`
select i.number
from ghouls.intents i
where i.tenant_id = $1 and i.run_id = $2 and i.epoch = $3 and i.scope = $4 and i.kind = $5 and i.name = $6 and i.nth = $7
  and i.number = $8 and i.token = $9 and i.outcome is null`),Zs=y("intents.close",`
with ${$(P)}
update ghouls.intents i
set outcome = $11, outcome_at = ghouls.clock()
from held
where i.tenant_id = held.tenant_id and i.run_id = held.run_id and i.epoch = $5 and i.scope = $6 and i.kind = $7
  and i.name = $8 and i.nth = $9 and i.number = $10 and i.outcome is null
returning i.number`),ea=_("intents.open-of-run",`
select i.epoch, i.scope, i.kind, i.name, i.nth, i.number, i.seq, i.token,
  (d.status = 'SETTLED' and d.outcome <> 'lost') or item.acknowledged_at is not null
    or coalesce(item.over_at, d.acts_until) <= ghouls.clock() as over,
  coalesce(item.over_at, d.acts_until) as over_at
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
left join ghouls.containment_items item
  on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'worker' and item.token = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.outcome is null
order by i.started_at, i.number`),na=_("intents.last-numbers",`
select i.epoch, i.scope, i.kind, i.name, i.nth, max(i.number) as number,
  (count(*) filter (where i.outcome = 'not_done' or d.outcome is distinct from 'lost'))::integer as tries
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
where i.tenant_id = $1 and i.run_id = $2
group by i.epoch, i.scope, i.kind, i.name, i.nth`);function Qn(n){return[n.epoch,n.scope,n.kind,n.name,n.nth]}i(Qn,"callOf");async function Ar(n,e,t,r){return(await n.run(Ys,[e.tenantId,e.runId,e.seq,e.token,...Qn(t),r])).length===1?!0:(await n.run(Xs,[e.tenantId,e.runId,...Qn(t),r,e.token])).length===1}i(Ar,"openIntentIfClaimed");async function Dr(n,e,t,r,o){let s=[e.tenantId,e.runId,e.seq,e.token];return(await n.run(Zs,[...s,...Qn(t),r,o])).length===1}i(Dr,"closeIntentIfClaimed");async function $r(n,e){return(await n.run(ea,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),seq:o.number("seq"),token:o.text("token"),over:r.over===!0,overAt:o.dateOrNull("over_at")}})}i($r,"readOpenIntents");async function Nr(n,e){return(await n.run(na,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),tries:o.number("tries")}})}i(Nr,"readLastIntents");var ra=_("items.of-run",`
select i.kind, i.key, i.seq, i.worker, i.over_at, i.created_at, i.tries, i.last_error, i.acknowledged_at, i.acknowledged_by,
  i.acknowledgement
from ghouls.containment_items i
where i.tenant_id = $1 and i.run_id = $2
order by i.created_at, i.kind, i.key`),oa=_("items.due",`
select i.tenant_id, i.run_id, ${le("i.due_at")}
from (
  (select i.tenant_id, i.run_id, i.next_look_at as due_at
  from ghouls.containment_items i
  where i.acknowledged_at is null and i.next_look_at <= ghouls.clock() and ${Q("i.next_look_at","i.run_id",2)}
  order by i.next_look_at, i.run_id
  limit $1)
  union all
  (select run.tenant_id, run.run_id, run.created_at
  from ghouls.runs run
  where run.status in (${k(R)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and ${Q("run.created_at","run.run_id",2)}
  order by run.created_at, run.run_id
  limit $1)
) as i
order by i.due_at, i.run_id
limit $1`),ia=y("items.acknowledge-over",`
with over as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'worker' and i.acknowledged_at is null and i.over_at <= ghouls.clock()
  order by i.kind, i.key
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = 'time',
    acknowledgement = 'nothing of its claim can act any more'
  from over
  where i.tenant_id = over.tenant_id and i.run_id = over.run_id and i.kind = over.kind and i.key = over.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - (select count(*) from acknowledged)::integer
where run.tenant_id = $1 and run.run_id = $2 and (select count(*) from acknowledged) > 0
returning run.open_items`),sa=y("items.look-later",`
with due as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null and i.next_look_at <= ghouls.clock()
  order by i.kind, i.key
  for update
)
update ghouls.containment_items i
set tries = i.tries + 1,
  next_look_at = greatest(coalesce(i.over_at, ghouls.clock()),
    ghouls.clock() + least(600, 5 * power(2, least(i.tries, 8))) * interval '1 second')
from due
where i.tenant_id = due.tenant_id and i.run_id = due.run_id and i.kind = due.kind and i.key = due.key
returning case
  when i.kind = 'worker' then i.over_at is null and i.tries >= 3
  else not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind = 'worker'
        and other.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.cause = 'contain') >= $3
  end as needs_word`),aa=y("deliveries.contain",`
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${k(R)})
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'effect' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'worker' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.cause = 'contain') < $3
  for update
), numbered as (
  update ghouls.runs run
  set enqueue_seq = r.enqueue_seq + 1
  from r
  where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select n.tenant_id, n.run_id, n.enqueue_seq, 'contain', 'PENDING', n.queue, n.priority, later.due_at, later.due_at, ghouls.clock()
from numbered n
cross join lateral (
  select ghouls.clock() + case when count(*) = 0 then interval '0' else 30 * power(4, count(*) - 1) * interval '1 second' end as due_at
  from ghouls.deliveries d
  where d.tenant_id = n.tenant_id and d.run_id = n.run_id and d.cause = 'contain'
) as later
returning seq`);async function Or(n,e){return(await n.run(ra,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{kind:o.text("kind"),key:o.text("key"),seq:o.number("seq"),worker:o.text("worker"),overAt:o.dateOrNull("over_at"),createdAt:o.date("created_at"),tries:o.number("tries"),lastError:o.textOrNull("last_error"),acknowledgedAt:o.dateOrNull("acknowledged_at"),acknowledgedBy:o.textOrNull("acknowledged_by"),acknowledgement:o.textOrNull("acknowledgement")}})}i(Or,"readItems");async function Pr(n,e,t){let r=await n.run(oa,[e,...ce(t)]),{found:o,next:s}=me(r,e,a=>({tenantId:f(a).text("tenant_id"),runId:f(a).text("run_id")}));return{found:[...new Map(o.map(a=>[a.runId,a])).values()],next:s}}i(Pr,"readDueItems");async function Yn(n,e,t){let r=[e.tenantId,e.runId];return n.transaction("items.contain",async o=>{await L(o,[e]),(await o.run(ia,r)).length>0&&await en(o,e);let s=await F(o,e);if(s!==null)return{ended:s,contain:!1,needsWord:!1};let a=await o.run(aa,[...r,t]),d=await o.run(sa,[...r,t]);return{ended:s,contain:a.length===1,needsWord:a.length===0&&d.some(u=>u.needs_word===!0)}})}i(Yn,"containRun");var ua=_("deliveries.lapsed",`
select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, run.status, run.on_worker_loss, run.losses,
  ${le("d.lease_until")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() and ($2::uuid[] is null or d.run_id = any($2::uuid[]))
  and ${Q("d.lease_until","d.run_id",3)}
order by d.lease_until, d.run_id
limit $1`),la=y("deliveries.settle-lost",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[])
    as q(tenant_id, run_id, seq, token, error_text, error_digest)
), lost as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.checkpoint_generation, wanted.error_text, wanted.error_digest,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $8::double precision * interval '1 second') end as over_at,
    run.status as run_status,
    case when run.status in (${k(R)}) then run.status
      when run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer then 'QUEUED'
      else 'FAILING' end as next_status
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = wanted.seq
  where d.status = 'CLAIMED' and d.token = wanted.token and d.lease_until < ghouls.clock()
    and (char_length(wanted.error_digest) > 0 or run.status in (${k(R)})
      or (run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer))
  order by d.run_id
  for update of d
), settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'lost', settled_at = ghouls.clock()
  from lost
  where t.tenant_id = lost.tenant_id and t.run_id = lost.run_id and t.seq = lost.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at, t.queue, t.priority
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select lost.tenant_id, lost.run_id, 'worker', lost.seq::text, lost.seq, lost.token, lost.claimed_by, lost.over_at,
    settled.settled_at, coalesce(lost.over_at, settled.settled_at)
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  returning tenant_id, run_id
), unknown as materialized (
  select i.tenant_id, i.run_id, ${B} as key, i.seq, i.token, lost.claimed_by
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  join ghouls.intents i on i.tenant_id = lost.tenant_id and i.run_id = lost.run_id
  where i.outcome is null and lost.next_status = 'FAILING' and lost.run_status <> 'FAILING'
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select u.tenant_id, u.run_id, 'effect', u.key, u.seq, u.token, u.claimed_by, ghouls.clock(), ghouls.clock()
  from unknown u
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning tenant_id, run_id
), moved as (
  update ghouls.runs run
  set status = lost.next_status,
    losses = run.losses + case when lost.next_status = lost.run_status then 0 else 1 end,
    enqueue_seq = run.enqueue_seq + case when lost.next_status = 'QUEUED' then 1 else 0 end,
    open_items = run.open_items + 1 + (
      select count(*) from effect_item e where e.tenant_id = run.tenant_id and e.run_id = run.run_id)::integer,
    error_code = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then 'ghoul_lost' else run.error_code end,
    error_text = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_text else run.error_text end,
    error_digest = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_digest else run.error_digest end
  from lost
  join worker_item w on w.tenant_id = lost.tenant_id and w.run_id = lost.run_id
  where run.tenant_id = lost.tenant_id and run.run_id = lost.run_id
  returning run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, lost.checkpoint_generation
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'recovered', 'PENDING', moved.queue, moved.priority,
    moved.checkpoint_generation, ghouls.clock(), ghouls.clock() + $9::double precision * interval '1 second', ghouls.clock()
  from moved
  where moved.status = 'QUEUED'
  returning run_id
)
select moved.tenant_id, moved.run_id, moved.status, moved.enqueue_seq, moved.queue
from moved
left join next on next.run_id = moved.run_id`);async function Lr(n,e,{after:t,runIds:r=null}={}){let o=await n.run(ua,[e,r,...ce(t)]);return me(o,e,s=>{let a=f(s);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),seq:a.number("seq"),token:a.text("token"),worker:a.text("claimed_by"),runStatus:a.text("status"),onWorkerLoss:a.text("on_worker_loss"),losses:a.number("losses")}})}i(Lr,"readLapsedClaims");async function Mr(n,e,t){return e.length===0?[]:n.transaction("deliveries.settle-lost",async r=>(await L(r,e),(await r.run(la,[e.map(s=>s.tenantId),e.map(s=>s.runId),e.map(s=>s.seq),e.map(s=>s.token),e.map(s=>s.errorText),e.map(s=>s.errorDigest),t.maxLosses,t.actsMarginSeconds,t.publisherGraceSeconds])).map(s=>{let a=f(s);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),status:a.text("status"),enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}})))}i(Mr,"settleLostClaims");var jr="d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at, d.acts_until, d.checkpoint_generation",Xn=`run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at,
  run.deadline_at, run.idle_yields, run.workflow_absent_since, run.open_items`,ma=y("deliveries.claim",`
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
  where (select count(*) from r) >= 0 
    and ((d.cause <> 'contain' and r.status = 'QUEUED' and r.paused_at is null and r.quarantined_at is null)
      or (d.cause = 'contain' and r.status in (${k(R)})
        and (r.quarantined_at is null or r.status = 'CANCELLING')))
    and ${Xe("d.status","CLAIMED")} and d.due_at <= ghouls.clock()
  order by d.run_id, d.seq
  for update of d
), claimed as (
  update ghouls.deliveries t
  set status = 'CLAIMED', token = d.token, claimed_by = $4, claimed_at = ghouls.clock(),
    lease_until = ghouls.clock() + $5::double precision * interval '1 second',
    acts_until = ghouls.clock() + $6::double precision * interval '1 second'
  from d
  where t.tenant_id = d.tenant_id and t.run_id = d.run_id and t.seq = d.seq
  returning t.tenant_id, t.run_id, t.seq, t.token, t.cause, t.claimed_at, t.acts_until, t.checkpoint_generation
), running as (
  update ghouls.runs run
  set status = case when claimed.cause = 'contain' then run.status else 'RUNNING' end,
    started_at = coalesce(run.started_at, claimed.claimed_at)
  from claimed
  where run.tenant_id = claimed.tenant_id and run.run_id = claimed.run_id
  returning run.tenant_id, run.run_id, ${Xn}
)
select ${jr}, ${Xn}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`),fa=_("deliveries.claimed-by-token",`
select ${jr}, ${Xn}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`),pa=_("deliveries.unclaimed",`
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  run.paused_at is not null as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`);async function Fr(n,e,t){let r=Gr(e),o=e.map(d=>d.token),s=await n.run(ma,[...r,o,t.worker,t.leaseSeconds,t.actsForSeconds]);return s.length===e.length?s.map(Tr):(await n.run(fa,[...r,o])).map(Tr)}i(Fr,"claimDeliveriesIfDue");async function zr(n,e){let t=await n.run(pa,Gr(e));return new Map(t.map(r=>{let o=f(r);return[`${o.text("run_id")}:${o.number("seq")}`,{runStatus:o.text("run_status"),deliveryStatus:o.text("delivery_status"),cause:o.text("cause"),currentSeq:o.number("enqueue_seq"),seq:o.number("seq"),paused:o.boolean("paused"),quarantined:o.boolean("quarantined"),dueInSeconds:o.number("due_in"),leaseEndsInSeconds:o.numberOrNull("lease_ends_in")}]}))}i(zr,"readUnclaimed");function Gr(n){return[n.map(e=>e.runId),n.map(e=>e.enqueueSeq)]}i(Gr,"arrays");function Tr(n){let e=f(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),seq:e.number("seq"),token:e.text("token"),cause:e.text("cause"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},firstRunId:e.text("first_run_id"),queue:e.text("queue"),agent:e.textOrNull("agent"),requestedBy:e.text("requested_by"),inputText:e.text("input_text"),inputDigest:e.text("input_digest"),journalLength:e.number("journal_length"),journalBytes:e.number("journal_bytes"),admittedAt:e.date("created_at"),deadlineAt:e.dateOrNull("deadline_at"),checkpointGeneration:e.numberOrNull("checkpoint_generation"),idleYields:e.number("idle_yields"),workflowAbsentSince:e.dateOrNull("workflow_absent_since"),claimedAt:e.date("claimed_at"),actsUntil:e.dateOrNull("acts_until")}}i(Tr,"claimedRun");var ga=y("deliveries.record-worker-end",`
with lost as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set worker_ended_at = ghouls.clock(), worker_end = $2, lease_until = least(d.lease_until, ghouls.clock())
from lost
where d.tenant_id = lost.tenant_id and d.run_id = lost.run_id and d.seq = lost.seq
returning d.run_id`),ya=y("items.record-worker-end",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.worker = $1 and i.kind = 'worker' and i.acknowledged_at is null
  order by i.tenant_id, i.run_id, i.kind, i.key
  for update
)
update ghouls.containment_items i
set over_at = least(i.over_at, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(i.next_look_at, ghouls.clock() + $2::double precision * interval '1 second')
from item
where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
returning i.run_id`);async function Ur(n,e){let t=await n.run(ga,[e.worker,e.how]);return await n.run(ya,[e.worker,e.actsMarginSeconds??_a]),t.length}i(Ur,"recordWorkerEnd");var _a=60;var wa=y("journal.append",`
with ${$(P)}, entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text,
    result_digest, tries, seq, token, started_at, completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, held.seq, held.token,
    date_trunc('milliseconds', ghouls.clock()) - $14::double precision * interval '1 millisecond',
    date_trunc('milliseconds', ghouls.clock())
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), effect as (
  update ghouls.intents i
  set outcome = case when $10 = 'ok' then 'happened' else 'failed' end, outcome_at = entry.completed_at
  from entry
  where $16::boolean and i.tenant_id = entry.tenant_id and i.run_id = entry.run_id and i.epoch = $5 and i.scope = $6
    and i.kind = $7 and i.name = $8 and i.nth = $9 and i.outcome is null
  returning i.run_id
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $15::bigint, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id
  and (select count(*) from effect) >= 0`),ka=_("journal.entry-of-call",`
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_digest
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`),ba=_("journal.read",`
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2
order by j.ordinal`);async function Hr(n,e,t){let r=[t.epoch,t.scope,t.kind,t.name,t.nth],[o]=await n.run(wa,[e.tenantId,e.runId,e.seq,e.token,...r,t.outcome,t.resultText,t.resultDigest,t.tries,t.tookMs,t.resultBytes,t.closesIntent??!1]);if(o!==void 0)return Wr(o);let[s]=await n.run(ka,[e.tenantId,e.runId,...r]);return s!==void 0&&s.token===e.token&&s.outcome===t.outcome&&s.result_digest===t.resultDigest?Wr(s):null}i(Hr,"appendEntryIfClaimed");function Wr(n){let e=f(n);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}i(Wr,"appended");async function Br(n,e){return(await n.run(ba,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{ordinal:o.number("ordinal"),epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),outcome:o.text("outcome"),resultText:o.textOrNull("result_text"),resultDigest:o.textOrNull("result_digest"),tries:o.number("tries"),seq:o.number("seq"),token:o.text("token"),startedAt:o.date("started_at"),completedAt:o.date("completed_at")}})}i(Br,"readJournal");var Ea=_("ledger.next-look",`
select extract(epoch from min(due.due_at) - ghouls.clock())::double precision as due_in
from (
  (select ghouls.clock() as due_at
  from ghouls.deliveries d
  where d.status = 'CLAIMED'
  order by d.lease_until
  limit 1)
  union all
  select pending.next_publication_at
  from generate_series(9, 0, -1) as p(priority)
  cross join lateral (
    select d.next_publication_at
    from ghouls.deliveries d
    join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
    where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at is not null
      and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
        or (d.cause = 'contain' and run.status in (${k(R)})
          and (run.quarantined_at is null or run.status = 'CANCELLING')))
    order by d.next_publication_at
    limit 1
  ) as pending
  union all
  (select d.hold_expires_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'HELD' and run.status = 'QUEUED' and run.quarantined_at is null
  order by d.hold_expires_at
  limit 1)
  union all
  (select i.next_look_at
  from ghouls.containment_items i
  where i.acknowledged_at is null
  order by i.next_look_at
  limit 1)
  union all
  (select ghouls.clock()
  from ghouls.runs run
  where run.status in (${k(R)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
  order by run.created_at
  limit 1)
) as due`);async function Kr(n){let[e]=await n.run(Ea,[]);return e===void 0?null:f(e).numberOrNull("due_in")}i(Kr,"readNextLook");var Ia=_("deliveries.due-publications",`
select due.tenant_id, due.run_id, due.seq, due.queue, due.publications
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at <= ghouls.clock()
    and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
      or (d.cause = 'contain' and run.status in (${k(R)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))
  order by d.next_publication_at
  limit $1
) as due
order by due.priority desc, due.next_publication_at
limit $1`),Sa=y("deliveries.mark-published",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set publications = d.publications + 1, publication_failures = 0, publication_error = null,
  published_at = coalesce(d.published_at, ghouls.clock()),
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`),va=y("deliveries.mark-publication-failed",`
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
returning d.run_id, d.publication_failures`);async function Jr(n,e){return(await n.run(Ia,[e])).map(r=>{let o=f(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),enqueueSeq:o.number("seq"),queue:o.text("queue"),publications:o.number("publications")}})}i(Jr,"readDuePublications");async function Vr(n,e,t=Ge.afterSuccess){return e.length===0?0:(await n.run(Sa,[...Yr(e),t])).length}i(Vr,"markPublished");async function Qr(n,e,t=Ge.afterFailure){if(e.length===0)return 0;let r=e.map(s=>s.publication),o=e.map(s=>s.reason.slice(0,500).replaceAll("\0",""));return(await n.run(va,[...Yr(r),t,o])).length}i(Qr,"markPublicationFailed");function Yr(n){return[n.map(e=>e.tenantId),n.map(e=>e.runId),n.map(e=>e.enqueueSeq)]}i(Yr,"arrays");var eo=`run.tenant_id, run.run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.deadline_at,
  run.created_at, run.started_at, run.finished_at`,Ca=_("runs.get",`
select ${eo}, run.input_text, run.output_text, run.error_text
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),no=`
where run.tenant_id = $1
  and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)`,et=`
order by run.created_at desc, run.run_id desc
limit $4`,to=`${eo}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`,Zn=i((n,e)=>_(`runs.page-${n}`,`
select ${to}
from ghouls.runs run${no}
  ${e}${et}`),"page"),Xr=i((n,e)=>_(`runs.page-${n}`,`
select ${to}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${no}
  and run.status = wanted.status ${e}${et}
) as run${et}`),"pageOfStatuses"),De={all:Zn("all",""),status:Xr("status",""),workflow:Zn("workflow","and run.workflow_name = $5"),both:Xr("status-workflow","and run.workflow_name = $6"),attention:Zn("attention","and (run.attention_at is not null or run.quarantined_at is not null)")},Ra=_("deliveries.of-run",`
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`);async function ro(n,e){let[t]=await n.run(Ca,[e.tenantId,e.runId]);if(t===void 0)return null;let r=f(t);return{...so(r),inputText:r.textOrNull("input_text"),outputText:r.textOrNull("output_text"),errorText:r.textOrNull("error_text")}}i(ro,"readRun");async function oo(n,e,t,r){let[o,s]=r.cursor===void 0?Da:Na(r.cursor),[a,d]=Aa(t),u=await n.run(a,[e,o,s,r.limit+1,...d]),c=u.slice(0,r.limit),m=c.at(-1);return{runs:c.map(p=>so(f(p))),nextCursor:u.length>r.limit&&m!==void 0?$a(m):null}}i(oo,"readRunPage");function Aa(n){let{status:e,workflow:t,attention:r}=n;if(r===!0){if(e!==void 0||t!==void 0)throw new g("invalid_request","the attention filter does not combine with others yet",{fix:"Ask with attention alone, and choose among what comes back."});return[De.attention,[]]}return e!==void 0&&t!==void 0?[De.both,[e,t]]:e!==void 0?[De.status,[e]]:t!==void 0?[De.workflow,[t]]:[De.all,[]]}i(Aa,"choose");var Da=["100000000000000000","ffffffff-ffff-ffff-ffff-ffffffffffff"];function $a(n){return`${f(n).text("created_micros")}.${f(n).text("run_id")}`}i($a,"cursorOf");function Na(n){let e=/^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(n);if(e===null)throw new g("invalid_request","this cursor is not one of ours",{fix:"Pass nextCursor of the page before unchanged, or leave it out for the first page."});return[e[1],e[2]]}i(Na,"parseCursor");async function io(n,e){return(await n.run(Ra,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{seq:o.number("seq"),cause:o.text("cause"),status:o.text("status"),outcome:o.textOrNull("outcome"),dueAt:o.date("due_at"),createdAt:o.date("created_at"),publishedAt:o.dateOrNull("published_at"),publications:o.number("publications"),claimedAt:o.dateOrNull("claimed_at"),claimedBy:o.textOrNull("claimed_by"),leaseUntil:o.dateOrNull("lease_until"),workerEndedAt:o.dateOrNull("worker_ended_at"),workerEnd:o.textOrNull("worker_end"),settledAt:o.dateOrNull("settled_at"),fencedAt:o.dateOrNull("fenced_at"),holdExpiresAt:o.dateOrNull("hold_expires_at")}})}i(io,"readDeliveries");function so(n){return{tenantId:n.text("tenant_id"),runId:n.text("run_id"),idempotencyKey:n.textOrNull("idempotency_key"),workflow:{name:n.text("workflow_name"),version:n.number("workflow_version"),digest:n.text("workflow_digest")},queue:n.text("queue"),priority:n.number("priority"),agent:n.textOrNull("agent"),requestedBy:n.text("requested_by"),status:n.text("status"),enqueueSeq:n.number("enqueue_seq"),journalLength:n.number("journal_length"),errorCode:n.textOrNull("error_code"),attention:Zr(n,"attention_reason","attention_at"),quarantine:Zr(n,"quarantine_reason","quarantined_at"),pausedAt:n.dateOrNull("paused_at"),deadlineAt:n.dateOrNull("deadline_at"),createdAt:n.date("created_at"),startedAt:n.dateOrNull("started_at"),finishedAt:n.dateOrNull("finished_at")}}i(so,"runOf");function Zr(n,e,t){let r=n.textOrNull(e),o=n.dateOrNull(t);return r===null||o===null?null:{reason:r,at:o}}i(Zr,"flag");var Pa=y("deliveries.settle",`
with ${$(P)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${Ae("r.status","DONE")}) or ($5 = 'FAILED' and ${Ae("r.status","FAILED")}))
  returning t.tenant_id, t.run_id, t.seq, t.claimed_by, t.settled_at
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${B}, i.seq, i.token, settled.claimed_by, settled.settled_at, settled.settled_at
  from settled
  join ghouls.intents i on i.tenant_id = settled.tenant_id and i.run_id = settled.run_id and i.outcome is null
  returning run_id
), left_open as (
  select held.tenant_id, held.run_id, held.open_items + (select count(*) from effect_item)::integer as items
  from held
)
update ghouls.runs run
set status = case when left_open.items = 0 then $5 when $5 = 'DONE' then 'COMPLETING' else 'FAILING' end,
  finished_at = case when left_open.items = 0 then settled.settled_at end,
  open_items = left_open.items,
  output_text = $7, output_digest = $8, error_code = $9, error_text = $10, error_digest = $11
from settled
join left_open on left_open.tenant_id = settled.tenant_id and left_open.run_id = settled.run_id
where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
returning run.status`),La=y("deliveries.settle-contain",`
with ${$(R)}
update ghouls.deliveries t
set status = 'SETTLED', outcome = $5, settled_at = ghouls.clock()
from held
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and t.cause = 'contain'
returning t.run_id`),Ma=_("deliveries.state-of-claim",`
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`),Ta=y("runs.quarantine",`
with ${$(P)}, settled as (
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
returning run_id`),ja=y("runs.raise-attention",`
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
  and run.status not in (${k(Ce("run"))})
returning run.run_id`);async function ao(n,e,t){let r=t.status==="DONE"?"done":"failed",o=t.status==="DONE"?[t.outputText,t.outputDigest,null,null,null]:[null,null,t.errorCode,t.errorText,t.errorDigest],s=await n.run(Pa,[...nn(e),t.status,r,...o]),[a]=s;return a!==void 0?{settled:!0,runStatus:f(a).text("status")}:nt(n,e,r)}i(ao,"settleDeliveryIfClaimed");async function uo(n,e,t){return n.transaction("deliveries.settle-contain",async r=>{await L(r,[e]);let s=(await r.run(La,[...nn(e),t])).length===1||(await nt(r,e,t)).settled;return{settled:s,ended:s?await F(r,e):null}})}i(uo,"settleContainIfClaimed");async function lo(n,e,t){return(await n.run(Ta,[...nn(e),t])).length===1?!0:(await nt(n,e,"given_back")).settled}i(lo,"quarantineRunIfClaimed");async function co(n,e,t){return(await n.run(ja,[e.tenantId,e.runId,t])).length===1}i(co,"raiseAttention");async function nt(n,e,t){let[r]=await n.run(Ma,nn(e));if(r===void 0)return{settled:!1,deliveryStatus:null,runStatus:null};let o=f(r),s=o.text("run_status");return r.mine===!0&&o.textOrNull("outcome")===t?{settled:!0,runStatus:s}:{settled:!1,deliveryStatus:o.text("delivery_status"),runStatus:s}}i(nt,"readClaim");function nn(n){return[n.tenantId,n.runId,n.seq,n.token]}i(nn,"keyOf");var za=y("workflows.record",`
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`),Ga=_("workflows.build-of",`
select w.build
from ghouls.workflows w
where w.name = $1 and w.version = $2 and w.digest = $3`);async function mo(n,e,t){await n.run(za,[e.map(r=>r.name),e.map(r=>r.version),e.map(r=>r.digest),t])}i(mo,"recordWorkflows");async function fo(n,e){let[t]=await n.run(Ga,[e.name,e.version,e.digest]);return t===void 0?null:f(t).text("build")}i(fo,"readBuildOf");function h(n,e){return((...t)=>e(n,...t))}i(h,"bind");function W(n,e,t){return(async(...r)=>(await e(),t(n,...r)))}i(W,"opening");function Wa(n,e,t,r){return Un(e,t,r)}i(Wa,"admitIn");function po(n){let e=new Ye(n),t=n.beforeOpening??(()=>Promise.resolve());return{schema:e.schema,runs:{admit:W(e,t,Un),admitIn:W(e,t,Wa),byKey:h(e,ae),byId:h(e,He),get:h(e,ro),page:h(e,oo),raiseAttention:h(e,co),quarantineIfClaimed:h(e,lo),clearAbsenceIfClaimed:h(e,kr),cancel:W(e,t,Sr)},deliveries:{releaseIfHeld:W(e,t,Yt),claimIfDue:W(e,t,Fr),unclaimed:h(e,zr),settleIfClaimed:h(e,ao),duePublications:h(e,Jr),markPublished:h(e,Vr),markPublicationFailed:h(e,Qr),settleContainIfClaimed:h(e,uo),beatIfClaimed:h(e,Ir),yieldIfClaimed:h(e,hr),giveBackIfClaimed:h(e,wr),lapsed:h(e,Lr),settleLost:h(e,Mr),expiredHolds:h(e,qr),expireHolds:h(e,Cr),recordWorkerEnd:W(e,t,Ur),ofRun:h(e,io)},journal:{appendIfClaimed:h(e,Hr),read:h(e,Br)},checkpoints:{read:h(e,br)},intents:{openIfClaimed:h(e,Ar),closeIfClaimed:h(e,Dr),openOfRun:h(e,$r),lastOfRun:h(e,Nr)},items:{ofRun:h(e,Or),due:h(e,Pr),contain:h(e,Yn),containSooner:W(e,t,Yn),acknowledge:W(e,t,Vn),acknowledgeWorker:W(e,t,Er)},evidence:{reject:h(e,vr)},workflows:{record:h(e,mo),buildOf:h(e,fo)},nextLook:h(e,Kr),beforeOpening:t,doctor:i(()=>yr(e),"doctor"),schemaVersion:i(()=>Kn(e),"schemaVersion"),transaction:e.transaction.bind(e),close:i(()=>e.close(),"close")}}i(po,"openLedger");var tt="ghouls_app";function go(n,e){return`
grant usage on schema ${n} to ${e};
grant select on ${n}.migrations to ${e};
grant select, insert, update on ${n}.workflows to ${e};
grant select, insert, update on ${n}.runs to ${e};
grant select, insert, update on ${n}.deliveries to ${e};
grant select, insert on ${n}.journal to ${e};
grant select, insert on ${n}.checkpoints to ${e};
grant select, insert, update on ${n}.containment_items to ${e};
grant select, insert, update on ${n}.intents to ${e};
grant select, insert on ${n}.evidence to ${e};
grant select, insert on ${n}.audit to ${e};
grant select on ${n}.doctor_open_deliveries to ${e};
grant select on ${n}.doctor_working_runs to ${e};
grant select on ${n}.doctor_terminal_runs to ${e};
grant select on ${n}.doctor_pending_deliveries to ${e};
grant select on ${n}.doctor_journals to ${e};
grant select on ${n}.doctor_open_items to ${e};
grant select on ${n}.doctor_endings to ${e};
grant select on ${n}.doctor_lost_claims to ${e};
grant select on ${n}.doctor_quarantined_runs to ${e};
grant select on ${n}.doctor_runs_with_attention to ${e};
`}i(go,"grantsSql");function yo(n){return`
do $$ begin
  if not exists (select from pg_namespace where nspname = '${n}') then create schema ${n}; end if;
end $$;
create table if not exists ${n}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`}i(yo,"prologueSql");function _o(n,e){return`${V(n.sql,e)}
insert into ${e}.migrations (number, name) values (${n.number}, '${n.name}');
`}i(_o,"stepSql");function ho(n={}){let{schema:e,role:t}=ko(n);return["begin;",yo(e).trim(),...ue.map(r=>`-- ${r.number} ${r.name}
${_o(r,e).trim()}`),go(e,t).trim(),"commit;",""].join(`

`)}i(ho,"migrationSql");async function wo(n){let{schema:e,role:t}=ko(n),r=new de({...n,maxConnections:1,answerTimeoutMs:0,applicationName:"ghouls-migrate"}),o=r.patience();try{let s=await r.connect("the migration",o);try{return await Ha(s,e,t)}finally{s.release(!0)}}catch(s){throw Ba(s,t)}finally{o.end(),await r.close()}}i(wo,"migrate");async function Ha(n,e,t){await n.query("begin"),await n.query({text:"select pg_advisory_xact_lock(hashtextextended($1, 0))",values:[`ghouls-migrate:${e}`]}),await n.query(yo(e));let o=await n.query(`select number from ${e}.migrations order by number`),s=Number(o.rows.at(-1)?.number??0),a=ue.at(-1)?.number??0;if(s>a)throw new g("configuration_invalid",`the schema is at migration ${s}, this code knows ${a}`,{fix:"Run the newer version of ghouls."});let d=ue.filter(c=>c.number>s);for(let c of d)await n.query(_o(c,e));await n.query(go(e,t));let u=await n.query("commit");if(u.command!=="COMMIT")throw new Error(`the migration's COMMIT answered ${u.command}`);return{applied:d.map(({number:c,name:m})=>({number:c,name:m})),version:a}}i(Ha,"applyMissing");function ko(n){let e=n.schema??ie,t=n.applicationRole??tt;return se(e,"the schema name"),se(t,"the application's role"),{schema:e,role:t}}i(ko,"named");function Ba(n,e){let t=typeof n=="object"&&n!==null&&"code"in n?n.code:void 0;return t==="42501"?new g("configuration_invalid","this role may not change the schema",{fix:"Give the migrator's connection string: the application's role owns nothing and has no DDL.",cause:n}):t==="42704"?new g("configuration_invalid",`the application's role "${e}" does not exist`,{fix:`Create it (create role ${e} login), or name yours with --app-role.`,cause:n}):n}i(Ba,"readable");import rt from"pg";var Ka={statement_timeout:"15s",lock_timeout:"5s",idle_in_transaction_session_timeout:"2s"};function ot(n,e){let{schema:t,migrator:r,application:o}=n;for(let[a,d]of[["the schema name",t],["the migrator's role",r.name],["the application's role",o.name]])se(d,a);let s=i(({name:a,password:d})=>[`do $$ begin if not exists (select from pg_roles where rolname = '${a}') then create role ${a} login; end if; end $$`,`do $$ begin if exists (select from pg_roles where rolname = '${a}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${a} nosuperuser nocreatedb nocreaterole; end if; end $$`,`alter role ${a} login password ${rt.escapeLiteral(d)}`],"role");return[...s(r),...s(o),...Object.entries(Ka).map(([a,d])=>`alter role ${o.name} set ${a} = '${d}'`),`do $$ begin if not pg_has_role('${r.name}', 'usage') then grant ${r.name} to current_user; end if; end $$`,`create schema if not exists ${t} authorization ${r.name}`,`grant connect on database ${rt.escapeIdentifier(e)} to ${r.name}, ${o.name}`]}i(ot,"rolesSql");async function bo(n,e){let t=new rt.Client({connectionString:n});t.on("error",()=>{}),await t.connect();try{let r=(await t.query("select current_database() as name")).rows[0]?.name??"";for(let o of ot(e,r))await t.query(o)}finally{await t.end()}}i(bo,"createRoles");var mi={};Le(mi,{DEFAULT_EXECUTION_SETTINGS:()=>qo,Publisher:()=>fe,Registry:()=>kn,blameHop:()=>To,createAdmission:()=>vo,createAnnouncement:()=>Io,createControl:()=>ni,createLowering:()=>ai,createReads:()=>ti,reconcile:()=>wn,reconcileWhenDue:()=>ci,work:()=>Zo});function Eo(n,e){let t=[],r=!1,o=i(async()=>{for(r=!0;t.length>0;){let s=t.slice(0,n);t=t.slice(n);try{let a=await e(s.map(d=>d.item));s.forEach((d,u)=>d.resolve(a[u]))}catch(a){for(let d of s)d.reject(a)}}r=!1},"drain");return s=>new Promise((a,d)=>{t.push({item:s,resolve:a,reject:d}),r||(r=!0,queueMicrotask(()=>{o()}))})}i(Eo,"grouped");var Ja=100,fe=class{static{i(this,"Publisher")}#e;#n;constructor(e){this.#e=e,this.#n=Eo(Ja,t=>this.#t(t))}publish(e){return this.#n(e)}async#t(e){let{queue:t,log:r,faults:o}=this.#e;try{let{confirmed:s,failed:a}=await t.publish(e);for(let{publication:u,reason:c}of a)r.warn("a delivery could not be published; the relay will",{runId:u.runId,reason:c});await o("admission.after-publish",`${s.length} confirmed`),await this.#r(s,a);let d=new Set(s.map(({runId:u,enqueueSeq:c})=>`${u}:${c}`));return e.map(({runId:u,enqueueSeq:c})=>d.has(`${u}:${c}`)?"published":"failed")}catch(s){return r.warn("publications failed; the relay repeats them",{count:e.length,error:String(s).slice(0,200)}),e.map(()=>"failed")}}async#r(e,t){let{ledger:r,log:o}=this.#e;try{await r.deliveries.markPublished(e),await r.deliveries.markPublicationFailed(t)}catch(s){o.warn("publications could not be marked",{count:e.length,error:s.name})}}};function Io({ledger:n,registry:e,build:t}){let r;return()=>(r??=n.workflows.record(e.pins(),t).catch(o=>{throw r=void 0,o}),r)}i(Io,"createAnnouncement");async function it(n){try{await n()}catch(e){throw!(e instanceof b)||e.kind!=="unknown"&&e.kind!=="busy"?e:new g("ledger_unavailable","nothing was admitted: this build could not say in the ledger which workflows it has",{fix:"Send the request again.",retryAfterSeconds:2,cause:e})}}i(it,"announceOrRefuse");async function $e(n,e){let t=Promise.withResolvers(),r=setTimeout(()=>t.resolve(!1),Math.min(Math.max(0,e),2147483647));try{return await Promise.race([n.then(()=>!0),t.promise])}finally{clearTimeout(r)}}i($e,"endsWithin");async function Ne(n,e){if(await $e(n,e))return n;throw new Error(`no answer within ${e} ms`)}i(Ne,"answerWithin");var Va=5,Qa="1h";async function tn(n,e,t){let{request:r}=t,o=Buffer.byteLength(t.inputText);if(o>Ee)throw new g("too_large",`the input is ${o} bytes of JSON, the limit is ${Ee}`,{fix:"Keep the material elsewhere and send a reference."});if(r.holdFor!==void 0&&r.held!==!0)throw new g("invalid_request","holdFor is for a run that is held",{issues:[{path:"/holdFor",message:"needs held: true"}],fix:"Add held: true, or leave holdFor out."});let s=JSON.parse(t.inputText),a=r.workflow===void 0?Ya(n.route,{input:s,...r.agent===void 0?{}:{agent:r.agent}}):void 0,d=n.registry.choose(r.workflow??a.workflow,r.version);await ed(d,s);let u=n.ids.next(),c=await n.codec.encode(t.inputText,{tenantId:e.tenantId,runId:u,kind:"input"});return{tenantId:e.tenantId,runId:u,idempotencyKey:t.idempotencyKey??null,requestDigest:await st(n.codec,t.canonicalRequest),workflow:{name:d.definition.name,version:d.definition.version,digest:d.digest},queue:Xa(n.queues,r.queue??a?.queue??d.definition.queue??Pn),priority:Za(r.priority??a?.priority??Va),agent:r.agent??null,requestedBy:e.subject,requestedRoles:e.roles,inputText:c,inputDigest:q(c),deadlineMs:d.definition.deadlineMs??null,onWorkerLoss:d.definition.onWorkerLoss,held:r.held??!1,holdMs:M(r.holdFor??Qa)}}i(tn,"prepare");async function st(n,e){return n.digest?.(e)??q(e)}i(st,"requestDigest");function Ya(n,e){let t;try{t=n?.(e)}catch{throw new g("invalid_request","the route of the configuration could not choose a workflow for this request",{fix:"Name a workflow in the request."})}if(t===void 0)throw new g("invalid_request","the request names no workflow and the route chose none",{issues:[{path:"/workflow",message:"is missing"}],fix:"Name a workflow, or let `route` in the configuration choose one."});return t}i(Ya,"routeOf");function Xa(n,e){if(!n.includes(e))throw new g("unknown_queue",`there is no queue "${e}"`,{fix:`Configured are: ${n.join(", ")}.`});return e}i(Xa,"queueOf");function Za(n){if(!Number.isInteger(n)||n<0||n>9)throw new g("invalid_request",`a priority of ${n} is not taken`,{issues:[{path:"/priority",message:"must be a whole number from 0 to 9"}],fix:"Give a whole number from 0 to 9; 9 goes first."});return n}i(Za,"priorityOf");async function ed(n,e){let t=await nd(n,e);if(t.length!==0)throw new g("input_invalid",`the input does not fit workflow "${n.definition.name}"`,{issues:t,fix:"Send an input of the workflow's schema; GET /v1/workflows shows it."})}i(ed,"checkInput");async function nd(n,e){try{let t=await n.definition.input.safeParseAsync(e);return t.success?[]:t.error.issues.slice(0,50).map(r=>({path:["","input",...r.path.map(String)].join("/"),message:r.message.slice(0,500)}))}catch{return[{path:"/input",message:"the workflow's schema failed on this input"}]}}i(nd,"issuesOf");function vo(n){let{ledger:e}=n,t=new fe(n),r={lockTimeoutMs:n.lockTimeoutMs??2e3,publisherGraceSeconds:n.publisherGraceSeconds??15},o=i(async d=>{d.unpublished&&await $e(t.publish(d),td)},"publishIfUnpublished"),s=i(async(d,{idempotencyKey:u,canonicalRequest:c})=>{if(u===void 0)return;let[m]=await e.runs.byKey([{tenantId:d.tenantId,idempotencyKey:u}]);if(!(m===void 0||m.requestDigest!==await st(n.codec,c)))return rn({run:m,created:!1})},"admittedBefore"),a=i(async d=>{await it(n.announce);let u=await e.runs.admit(d,r);await n.faults("admission.after-commit",`${u.size} created`);let c=await So(d,u,e.runs);return await Promise.all(c.flatMap(m=>"run"in m?[o(m.run)]:[])),c},"commit");return{admit:i(async(d,u)=>{let c;try{c=await tn(n,d,u)}catch(p){let w=await s(d,u);if(w===void 0)throw p;return w}let[m]=await a([c]);if(m===void 0||"conflict"in m)throw at(c.idempotencyKey);return rn(m)},"admit"),admitBatch:i(async(d,u)=>{let c=await od(u,p=>tn(n,d,p));return{runs:(await a(c)).map((p,w)=>"run"in p?{outcome:"admitted",run:rn(p)}:{outcome:"conflict",idempotencyKey:c[w]?.idempotencyKey??"",detail:at(c[w]?.idempotencyKey??null).message})}},"admitBatch"),release:i(async(d,u)=>{let c={tenantId:d.tenantId,runId:u},m=T(u)&&await e.deliveries.releaseIfHeld(c,r.publisherGraceSeconds),[p]=T(u)?await e.runs.byId([c]):[];if(p===void 0)throw new g("not_found","there is no such run",{fix:"Check the run id."});await o(p);let w=p.status==="FAILING"||p.status==="FAILED"||p.status.startsWith("CANCEL");if(!m&&(w||p.held)){let I=w?`the run is ${p.status}`:"the hold has expired";throw new g("hold_ended",`${I}: there is nothing left to release`,{fix:"Admit a new run."})}return{runId:u,enqueueSeq:p.enqueueSeq,released:m}},"release"),admitIn:i(async(d,u,c)=>{let m=await tn(n,u,c);await it(n.announce);let p=Ke(d,e.schema),w=await Je(p,async()=>{let I=await e.runs.admitIn(p,[m],r),[A]=await So([m],I,{byKey:i(S=>ae(p,S),"byKey"),byId:i(()=>Promise.resolve([]),"byId")});return A});if(w===void 0||"conflict"in w)throw at(m.idempotencyKey);return{admitted:rn(w),tenantId:u.tenantId}},"admitIn"),publish:i(async({admitted:d,tenantId:u})=>{if(await e.beforeOpening(),d.held)return;let{runId:c,enqueueSeq:m,queue:p}=d;await t.publish({tenantId:u,runId:c,enqueueSeq:m,queue:p})},"publish")}}i(vo,"createAdmission");var td=2e3;async function So(n,e,t){let r=n.filter(u=>!e.has(u.runId)),o=r.flatMap(u=>u.idempotencyKey===null?[]:[{tenantId:u.tenantId,idempotencyKey:u.idempotencyKey}]),s=r.filter(u=>u.idempotencyKey===null),a=new Map((o.length>0?await t.byKey(o):[]).map(u=>[u.idempotencyKey,u])),d=new Map((s.length>0?await t.byId(s):[]).map(u=>[u.runId,u]));return n.map(u=>{if(e.has(u.runId))return{run:rd(u),created:!0};let c=u.idempotencyKey===null?d.get(u.runId):a.get(u.idempotencyKey);if(c===void 0)throw new g("outcome_unknown","the ledger neither wrote the run nor holds its key",{fix:"Send the request again under the same Idempotency-Key.",retryAfterSeconds:1});return c.requestDigest!==u.requestDigest?{conflict:!0}:{run:c,created:c.runId===u.runId}})}i(So,"settleKeys");function rd(n){let{tenantId:e,runId:t,idempotencyKey:r,requestDigest:o,workflow:s,queue:a,priority:d,held:u}=n;return{tenantId:e,runId:t,idempotencyKey:r,requestDigest:o,workflow:s,queue:a,priority:d,held:u,status:"QUEUED",enqueueSeq:1,unpublished:!u}}i(rd,"freshRun");function rn({run:n,created:e}){let{runId:t,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:u}=n;return{runId:t,created:e,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:u}}i(rn,"admittedView");function at(n){return new g("idempotency_conflict",`the idempotency key "${n}" was used for another request`,{fix:"Use a new key for a new request, or send the same request again."})}i(at,"conflict");async function od(n,e){let t=[],r=[],o;for(let[s,a]of n.entries())try{t.push(await e(a))}catch(d){if(!(d instanceof g))throw d;o??=d;let u=d.issues??[{path:"",message:d.message}];r.push(...u.map(c=>({path:`/runs/${s}${c.path}`,message:c.message})))}if(o===void 0)return t;throw new g(o.code,`nothing was admitted: ${o.message}`,{issues:r.slice(0,50),...o.fix===void 0?{}:{fix:o.fix}})}i(od,"prepareAll");var qo={replayPatienceMs:1e3,settleReserveMs:2e3,overdueAfterMs:6e4,actsMarginSeconds:60,leaseMs:12e4,beatMs:3e4,maxLosses:3,maxContainDeliveries:3,deployOverlapMs:36e5,publisherGraceSeconds:15};function pe(){return new Promise(n=>setImmediate(n))}i(pe,"comeToRest");function Y(){let{promise:n,resolve:e,reject:t}=Promise.withResolvers();return n.catch(()=>{}),{promise:n,resolve:e,reject:t}}i(Y,"deferred");var on=class{static{i(this,"Calls")}#e=new Map;#n=new Map;#t=new Map;next(e,t,r,o){let s=dt({epoch:e,scope:t,name:o});if(this.#n.has(s))return;let a=v({epoch:e,scope:t,kind:r,name:o,nth:0}),d=(this.#e.get(a)??0)+1;return this.#e.set(a,d),{epoch:e,scope:t,kind:r,name:o,nth:d}}open(e,t,r){let o={id:e,key:v(e),result:Y(),start:r,options:t};return this.#t.set(o.key,o),this.#n.set(dt(e),o.key),o}find(e){return this.#t.get(v(e))}close(e){this.#t.delete(e.key),this.#n.delete(dt(e.id))}openCalls(){return[...this.#t.values()]}};function dt(n){return JSON.stringify([n.epoch,n.scope,n.name])}i(dt,"placeOf");function C(n,e,t){return{kind:"failed",failure:{code:n,name:"Refused",message:e,...t===void 0?{}:{step:t}}}}i(C,"refusal");var id=100,sd=2e3;async function ge(n,e){for(let t=id;;t=Math.min(sd,t*2))try{return await n()}catch(r){if(!(r instanceof b)||r.kind==="defect"||r.kind==="schema"||!e.mayGoOn()||(e.onPause(r),await new Promise(o=>setTimeout(o,t*(.5+e.chance()/2))),!e.mayGoOn()))throw r}}i(ge,"persist");var Co=32*1048576,sn=class{static{i(this,"JournalWriter")}#e;#n;#t;#r;#i;constructor(e,t,r,o){this.#r=o,this.#e=e,this.#n=r,this.#i=e.journalBytes,this.#t=[...t]}entries(){return this.#t}async reject(e,t){try{let{tenantId:r,runId:o}=this.#e,s=ne(t.outcome==="ok"?t.value:t.failure),a=s===void 0?null:await this.#n.codec.encode(s,{tenantId:r,runId:o,kind:"result"});await this.#n.ledger.evidence.reject(this.#e,{call:v(e),outcome:t.outcome,bodyText:a,bodyDigest:a===null?null:q(a)}),await this.#s(e,t);return}catch(r){return r}}async#s(e,t){if(t.outcome!=="ok"||t.closesIntent!==!0)return;let{epoch:r,scope:o,kind:s,name:a,nth:d}=e,u=`[${[r,o,s,a,d].map(p=>JSON.stringify(p)).join(", ")}]`,{token:c}=this.#e;await this.#n.ledger.items.acknowledge(this.#e,{kind:"effect",key:u,by:"worker",words:"it has happened, says the worker that made the call",token:c})}async write(e,t,r){try{return await this.#o(e,t,r)}catch(o){if(!(o instanceof O))return{written:!1,end:{kind:"unknown",error:o}};let s=`the result of step "${e.name}": ${o.message}`;return{written:!1,end:C(o.reason,s,e.name)}}}async#o(e,t,r){let{tenantId:o,runId:s}=this.#e,a=ne(t.outcome==="ok"?t.value:t.failure),d=a===void 0?null:await this.#n.codec.encode(a,{tenantId:o,runId:s,kind:"result"}),u=d===null?0:Buffer.byteLength(d);if(this.#i+u>Co)throw new O("too_large",`it would bring the run's journal above ${Co} bytes`);let c={...e,outcome:t.outcome,resultText:d,resultDigest:d===null?null:q(d),resultBytes:u,tries:t.tries,tookMs:r,closesIntent:t.outcome==="ok"&&t.closesIntent===!0},m=await ge(()=>this.#n.ledger.journal.appendIfClaimed(this.#e,c),this.#r);return m===null?{written:!1,end:{kind:"fenced"}}:(this.#i+=u,this.#t.push({...e,ordinal:m.ordinal,outcome:t.outcome,digest:d===null?null:q(d)}),await this.#n.faults("worker.after-journal",e.name),{written:!0,text:a,completedAt:m.completedAt})}};async function Ro(n){let{options:e}=n;for(let t=1;;t+=1){let r=await an(n,t);if(r.outcome==="ok")return{outcome:"ok",value:r.value,tries:t};if(ad(r.thrown)||t>=e.tries)return{outcome:"error",failure:r.failure,tries:t};if(n.hopSignal.aborted)return{outcome:"abandoned",tries:t};if(n.log.warn("a try of a step failed",{step:n.name,try:t,error:r.failure.name}),await ut(Ie(e.backoff,t+1,n.chance()),n.hopSignal),n.hopSignal.aborted)return{outcome:"abandoned",tries:t};let s=n.whyNotNow();if(s!==void 0)return{outcome:"stops",end:s}}}i(Ro,"runStep");async function an(n,e){let{timeoutMs:t}=n.options,r=new AbortController,o=i(()=>r.abort(n.hopSignal.reason),"stop");n.hopSignal.addEventListener("abort",o,{once:!0}),n.hopSignal.aborted&&o();let s=!1,a=setTimeout(()=>{s=!0,r.abort(new DOMException(`step "${n.name}" did not end within ${t} ms`,"TimeoutError"))},t),d=setTimeout(n.onOverdue,t+n.overdueAfterMs);try{let{idempotencyKey:u,log:c}=n;return{outcome:"ok",value:await n.run({idempotencyKey:u,tryNumber:e,signal:r.signal,log:c})}}catch(u){let c=x(u);return{outcome:"error",thrown:u,failure:s?{name:"TimeoutError",message:`it did not end within ${t} ms (then: ${c.message.slice(0,500)})`}:c}}finally{clearTimeout(a),clearTimeout(d),n.hopSignal.removeEventListener("abort",o)}}i(an,"callOnce");function ad(n){return n instanceof K?!0:n instanceof Error&&n.name==="NonRetryableError"}i(ad,"isNonRetryable");function ut(n,e){return new Promise(t=>{if(e.aborted)return t();let r=i(()=>{clearTimeout(o),e.removeEventListener("abort",r),t()},"end"),o=setTimeout(r,n);e.addEventListener("abort",r,{once:!0})})}i(ut,"pause");var z=i(n=>({outcome:"stops",end:n}),"stops"),dd=1e3,ud=3e5;async function Do(n,e){let t=n.lastNumber,r=n.triesUsed;if(n.openIntent!==void 0){let o=await cd(n,n.openIntent,e);if(o!=="cannot_happen")return o}if(r>=n.options.tries)return Ao(n,r,{name:"Error",message:"it did not happen"});for(;;){let o=n.whyNotNow();if(o!==void 0)return z(o);if(t+=1,r+=1,await e.faults("worker.before-intent",n.call.name),!await e.ledger.intents.openIfClaimed(n.claim,n.call,t))return z({kind:"fenced"});await e.faults("worker.after-intent",n.call.name);let s=await an($o(n,n.call.name,n.run),r);if(s.outcome==="ok")return{outcome:"ok",value:s.value,tries:r,closesIntent:!0};if(!(s.thrown instanceof Z))return ld(n,r,s.failure);if(!await e.ledger.intents.closeIfClaimed(n.claim,n.call,t,"not_done"))return z({kind:"fenced"});if(r>=n.options.tries||n.hopSignal.aborted)return Ao(n,r,s.failure);await ut(Ie(n.options.backoff,r+1,e.chance()),n.hopSignal)}}i(Do,"onceStep");function $o(n,e,t){let{options:r,hopSignal:o,log:s,onOverdue:a,overdueAfterMs:d}=n,u=ke(n.claim.firstRunId,n.call);return{name:e,run:t,options:r,hopSignal:o,log:s,onOverdue:a,overdueAfterMs:d,idempotencyKey:u}}i($o,"callOf");function Ao(n,e,t){return n.log.warn("an effect has certainly not happened",{step:n.call.name,tries:e}),{outcome:"error",failure:t,tries:e}}i(Ao,"failedForGood");function ld(n,e,t){return n.probe===void 0?z(dn(n,t.message)):(n.log.warn("the outcome of an effect is unknown; its probe is asked next",{step:n.call.name,try:e}),z({kind:"given_back",dueAt:new Date(n.ledgerNowMs()+dd),why:`the outcome of "${n.call.name}" is unknown`}))}i(ld,"unknownOutcome");function dn(n,e){let{name:t}=n.call;return C("effect_unknown",`effect "${t}" may or may not have happened: ${e.slice(0,500)}`,t)}i(dn,"effectUnknown");async function cd(n,e,t){if(!e.over){let s=e.overAt??new Date(n.ledgerNowMs()+ud);return z({kind:"given_back",dueAt:s,why:`an earlier worker may still carry out "${n.call.name}"`})}if(n.probe===void 0)return z(dn(n,"its worker was lost, and it has no probe"));let r=await lt(n.probe,n);return typeof r=="string"?z(dn(n,r)):r.outcome==="happened"?{outcome:"ok",value:r.result,tries:e.number,closesIntent:!0}:r.outcome==="unknown"?z(dn(n,"its probe does not know")):await t.ledger.intents.closeIfClaimed(n.claim,n.call,e.number,"cannot_happen")?"cannot_happen":z({kind:"fenced"})}i(cd,"askAbout");async function lt(n,e){let t=await an($o(e,`probe of ${e.call.name}`,n),1);return t.outcome==="error"?`its probe failed: ${t.failure.message.slice(0,300)}`:md(t.value)?t.value:"its probe answered nothing that a probe answers"}i(lt,"probe");function md(n){return typeof n!="object"||n===null||!("outcome"in n)?!1:n.outcome==="happened"||n.outcome==="cannot_happen"||n.outcome==="unknown"}i(md,"isAnswer");function ye(n,e,t){return n.claimedAt.getTime()+e.clock.monotonicMs()-t.claimedAtMs}i(ye,"ledgerNowMs");function ct(n,e,t,r,o){if(t.deadlineAt!==null&&ye(t,r,o)>=t.deadlineAt.getTime())return C("deadline",`the run's deadline has passed before step "${n}"`,n);if(!(e<=o.remainingMs()-r.settings.settleReserveMs))return{kind:"yielded",why:"time"}}i(ct,"whyNotNow");async function No(n,e){let{call:t,claim:r,run:o,options:s,hopSignal:a,log:d,effects:u,invocation:c}=n,m={run:o,options:s,hopSignal:a,log:d,overdueAfterMs:e.settings.overdueAfterMs,onOverdue:i(()=>mt(n,e),"onOverdue"),whyNotNow:i(()=>ct(t.name,s.timeoutMs,r,e,c),"whyNotNow")};try{await e.faults("worker.before-step",t.name);let p=s.once?await Do({...m,call:t,claim:r,probe:s.probe,...u.of(t),ledgerNowMs:i(()=>ye(r,e,c),"ledgerNowMs")},e):await Ro({...m,name:t.name,idempotencyKey:ke(r.firstRunId,t),chance:e.chance});return await e.faults("worker.after-step",t.name),p}catch(p){return s.once?{outcome:"stops",end:{kind:"unknown",error:p}}:{outcome:"error",failure:x(p),tries:1}}}i(No,"liveStep");function mt({call:n,claim:e,log:t},r){r.ledger.runs.raiseAttention(e,`step_overdue: ${n.name}`).catch(o=>{t.warn("attention could not be raised",{step:n.name,error:String(o).slice(0,200)})})}i(mt,"askForAPerson");var fd=6e4,Oo=100,Po=new Set(["tries","backoff","timeout","effect","probe"]),Lo=200;function Mo(n,e,t,r){if(typeof n!="string"||n===""||n.length>Lo||n.includes("\0")||!n.isWellFormed())return`a step's name is a text of 1 to ${Lo} characters`;if(typeof e!="function")return`step "${n}" has no function`;let o=Object.keys(t??{}).find(s=>!Po.has(s));if(o!==void 0)return`step "${n}": option "${o}" is not known in this version (known: ${[...Po].join(", ")})`;try{return pd(n,t??{},r)}catch(s){if(!(s instanceof g))throw s;return`step "${n}": ${s.message}${s.fix===void 0?"":`. ${s.fix}`}`}}i(Mo,"resolveStep");function pd(n,e,t){let r=e.tries??1;if(!Number.isInteger(r)||r<1||r>Oo)return`step "${n}": tries is a whole number from 1 to ${Oo}`;let o=e.timeout===void 0?Math.min(fd,t/2):M(e.timeout);return o<=0||o>t?`step "${n}": a timeout of ${e.timeout} does not fit the function's limit of ${Math.floor(t/1e3)} s`:e.effect!==void 0&&e.effect!=="once"?`step "${n}": effect can only be "once"`:e.probe!==void 0&&(e.effect!=="once"||typeof e.probe!="function")?`step "${n}": a probe is a function, and belongs to a step with effect: "once"`:{tries:r,timeoutMs:o,once:e.effect==="once",probe:e.probe,backoff:$n(e.backoff)}}i(pd,"resolved");import{AsyncLocalStorage as gd}from"node:async_hooks";var ft=new gd;function pt(n,e){return ft.run(n,e)}i(pt,"standIn");function un(){return ft.getStore()}i(un,"whereAmI");function To(n){let e=ft.getStore();return e===void 0?!1:(e.hop.fail(n),!0)}i(To,"blameHop");function Fo(n){let{runId:e,agent:t,requestedBy:r,deadlineAt:o}=n.claim,s=new we(e,0,"");return{runId:e,agent:t,requestedBy:r,deadline:o===null?void 0:new Date(o),abortSignal:n.abortSignal,log:yd(n),step:i((a,d,u)=>n.step(a,d,u),"step"),now:i(()=>new Date(n.now()),"now"),random:i(()=>jo("random",()=>s.random()),"random"),uuid:i(()=>jo("uuid",()=>s.uuid()),"uuid")}}i(Fo,"workflowContext");function jo(n,e){let t=un()?.step;if(t===void 0)return e();throw new K(`ctx.${n}() was called inside step "${t}": draw outside, and use the value inside`)}i(jo,"outsideOfSteps");function yd(n){let e=i(t=>(r,o)=>{n.isLive()&&n.log[t](r,o)},"only");return{debug:e("debug"),info:e("info"),warn:e("warn"),error:e("error")}}i(yd,"whileLive");var _e=class{static{i(this,"Hop")}#e;#n;#t;#r;#i;#s;#o;#a;#c=new AbortController;#d=new on;#p=[];#m;#g=!1;#f=0;#_=!0;#h=!1;#u;#y=Y();constructor(e,t,r,o,s,a){this.#e=e,this.#n=t,this.#i=r,this.#s=o,this.#t=s,this.#r=a,this.#o=s.logFor(e),this.#m=e.admittedAt,this.#a=new sn(e,r,s,{chance:s.chance,mayGoOn:i(()=>this.mayWrite()&&a.remainingMs()>s.settings.settleReserveMs/2,"mayGoOn"),onPause:i(d=>this.#o.warn("the ledger is out of reach; a result waits",{kind:d.kind}),"onPause")})}async run(e){this.#w(e),await this.#k(),this.#g=!0;for(let r of this.#d.openCalls())r.start();let t=await this.#S();return this.#c.abort(new DOMException("the hop has ended","AbortError")),t}async openCalls(e,t){this.#w(e),await this.#k();let r=this.#t.clock.monotonicMs(),o=i(a=>this.#d.openCalls().some(d=>d.key===a),"isOpen");for(;!t.every(o)&&this.#u===void 0&&!(this.#t.clock.monotonicMs()-r>this.#t.settings.replayPatienceMs);)await pe();let s=this.#d.openCalls();return this.#l({kind:"fenced"}),s}fence(){this.#l({kind:"fenced"})}fail(e){this.#l(zo(e))}drain(){this.#l({kind:"yielded",why:"drain"})}mayWrite(){return this.#_}journal(){return this.#a.entries()}#w(e){let t=Fo({claim:this.#e,log:this.#o,abortSignal:this.#c.signal,isLive:i(()=>this.#g||this.#i.length===0,"isLive"),now:i(()=>this.#m,"now"),step:i((o,s,a)=>this.#q(o,s,a),"step")});pt({hop:this,step:void 0},i(async()=>this.#n.run(t,e),"body")).then(o=>this.#l({kind:"returned",output:o}),o=>this.#l(zo(o)))}#l(e){let t=this.#u,r=e.kind==="fenced"||e.kind==="unknown";(t===void 0||r||gt(t)&&!gt(e))&&(this.#u=e),r&&(this.#_=!1),e.kind!=="returned"&&!gt(e)&&this.#c.abort(new DOMException("the run does not go on here","AbortError")),this.#y.resolve()}async#k(){await pe();for(let e of this.#i){if(this.#b())return;let t=await this.#I(e);if(t===void 0){let r=this.#d.openCalls().map(o=>Me(o.id));if(this.#b())return;this.#u=C("journal_mismatch",`journal entry ${e.ordinal} is ${Me(e)}, but the code ${r.length===0?"does not ask for it":`asks for ${r.join(", ").slice(0,1e3)}`}: the workflow's code has changed or is not deterministic`);return}this.#x(t,e.outcome,e.text,e.tries,e.completedAt),await pe()}}#b(){let e=this.#u;return this.#h||e!==void 0&&e.kind!=="returned"&&e.kind!=="failed"}async#I(e){let t=this.#t.clock.monotonicMs();for(;;){let r=this.#d.find(e);if(r!==void 0)return r;if(this.#u!==void 0||this.#t.clock.monotonicMs()-t>this.#t.settings.replayPatienceMs)return;await pe()}}async#S(){for(;;){let e=this.#p.shift();if(e!==void 0)await this.#v(e);else{if(this.#u!==void 0&&this.#f===0)return this.#u;await this.#y.promise,this.#y=Y()}}}async#v({call:e,end:t,tookMs:r}){if(t.outcome==="stops")return this.#l(t.end);if(t.outcome==="abandoned")return;if(!this.#_){let s=await this.#a.reject(e.id,t),a=s===void 0?void 0:x(s).message.slice(0,200);this.#o.warn("a step ended after its claim was gone; its result is rejected evidence",{step:e.id.name,error:a});return}let o=await this.#a.write(e.id,t,r);if(!o.written)return o.end.kind==="fenced"&&await this.#a.reject(e.id,t),this.#l(o.end);t.outcome==="error"&&this.#u?.kind==="returned"&&this.#o.warn("a step failed that the workflow did not wait for",{step:e.id.name}),this.#x(e,t.outcome,o.text??null,t.tries,o.completedAt),await pe()}#x(e,t,r,o,s){this.#d.close(e),this.#m=s;let a=r===null?void 0:JSON.parse(r);t==="ok"?e.result.resolve(a):e.result.reject(new ee(e.id.name,o,a))}#q(e,t,r){let o=un()?.step;if(o!==void 0){this.#h=!0;let c=`ctx.step("${String(e).slice(0,200)}") was called inside step "${o}": call it in the workflow itself`;return this.#l(C("invalid_call",c,o)),Promise.reject(new Error(c))}if(this.#u!==void 0)return Y().promise;let s=this.#r.limitMs-this.#t.settings.settleReserveMs,a=Mo(e,t,r,s);if(typeof a=="string")return this.#E(C("invalid_call",a));let d=this.#d.next(0,"","step",e);if(d===void 0)return this.#E(C("duplicate_call",`a call "${e}" is open already: give calls that run at the same time names of their own`));let u=this.#d.open(d,a,()=>this.#C(u,t));return this.#g&&u.start(),this.#y.resolve(),u.result.promise}#E(e){return this.#h=!0,this.#l(e),Y().promise}#C(e,t){if(this.#u!==void 0&&this.#u.kind!=="returned")return;let{clock:r}=this.#t,{options:o}=e,s=ct(e.id.name,o.timeoutMs,this.#e,this.#t,this.#r);if(s!==void 0)return this.#l(s);this.#f+=1;let a=r.monotonicMs(),{claim:d,log:u,abort:c}={claim:this.#e,log:this.#o,abort:this.#c},m={call:e.id,claim:d,run:t,options:o,hopSignal:c.signal,log:u,effects:this.#s,invocation:this.#r};pt({hop:this,step:e.id.name},()=>No(m,this.#t)).then(w=>{this.#f-=1,this.#p.push({call:e,end:w,tookMs:r.monotonicMs()-a}),this.#y.resolve()})}};function gt(n){return n.kind==="yielded"||n.kind==="given_back"}i(gt,"handsOver");function zo(n){let e=_d(n);if(e===void 0)return{kind:"failed",failure:{code:"workflow_failed",...x(n)}};let{name:t,message:r}=x(n);return{kind:"failed",failure:{code:"step_failed",name:t,message:r,...e}}}i(zo,"failureOf");function _d(n){try{if(!(n instanceof ee))return;let e=n.failure.stack;return{step:String(n.step),...typeof e=="string"?{stack:e}:{}}}catch{return}}i(_d,"stepFailureIn");async function Go(n,e){if(n.seq===1)return{of:i(()=>({openIntent:void 0,lastNumber:0,triesUsed:0}),"of")};let[t,r]=await Promise.all([e.ledger.intents.openOfRun(n),e.ledger.intents.lastOfRun(n)]),o=new Map(t.map(a=>[v(a),a])),s=new Map(r.map(a=>[v(a),a]));return{of:i(a=>({openIntent:o.get(v(a)),lastNumber:s.get(v(a))?.number??0,triesUsed:s.get(v(a))?.tries??0}),"of")}}i(Go,"loadEffects");function yt(n){return q(JSON.stringify(n.map(e=>[e.ordinal,v(e),e.outcome,e.digest])))}i(yt,"journalDigest");var N=class extends Error{static{i(this,"DisagreementError")}constructor(e){super(e),this.name="DisagreementError"}},X=class extends Error{static{i(this,"CodecError")}constructor(e){super(e),this.name="CodecError"}};async function _t(n,e,t,r){if(e===null||q(n)!==e)throw new N(`${t} disagrees with its digest`);try{return await r(n)}catch(o){throw new X(`${t}: ${x(o).message.slice(0,200)}`)}}i(_t,"verified");async function Uo(n,e,t){if(e.length!==n.journalLength)throw new N(`the journal has ${e.length} entries, the run says ${n.journalLength}`);let r={tenantId:n.tenantId,runId:n.runId,kind:"result"};return Promise.all(e.map(async(o,s)=>{if(o.ordinal!==s+1)throw new N(`journal entry ${s+1} is missing`);let{ordinal:a,epoch:d,scope:u,kind:c,name:m,nth:p,outcome:w,tries:I,completedAt:A,resultText:S}=o,bn=S===null?hd(o):await _t(S,o.resultDigest,`journal entry ${a}`,fi=>t.decode(fi,r));return{ordinal:a,epoch:d,scope:u,kind:c,name:m,nth:p,outcome:w,text:bn,tries:I,completedAt:A,digest:o.resultDigest}}))}i(Uo,"loadJournal");function hd(n){if(n.resultDigest!==null)throw new N(`the result of journal entry ${n.ordinal} is gone`);return null}i(hd,"emptied");function Wo(n,e,t){let r=`checkpoint ${n.checkpointGeneration}`;if(e===null)throw new N(`${r} is missing`);if(e.workflowDigest!==n.workflow.digest)throw new N(`${r} is of another workflow digest`);if(e.journalDigest!==yt(t.slice(0,e.journalLength)))throw new N(`${r} disagrees with the journal`)}i(Wo,"verifyCheckpoint");async function ln(n,e,t){let r=n.journalLength===0?[]:await Uo(n,await t.ledger.journal.read(n),t.codec);n.checkpointGeneration!==null&&Wo(n,await t.ledger.checkpoints.read(n,n.checkpointGeneration),r);let{tenantId:o,runId:s}=n,a=await _t(n.inputText,n.inputDigest,"the input",u=>t.codec.decode(u,{tenantId:o,runId:s,kind:"input"})),d=await wd(e,a);return"problem"in d?C("input_invalid",`the input does not fit the workflow's schema: ${d.problem}`):{input:d.value,journal:r,effects:await Go(n,t)}}i(ln,"loadMaterial");function cn(n){return"journal"in n}i(cn,"isMaterial");async function wd(n,e){try{let t=await n.input.safeParseAsync(JSON.parse(e));return t.success?{value:t.data}:{problem:t.error.message.slice(0,1500)}}catch(t){return{problem:x(t).message}}}i(wd,"inputOf");function mn(n,e){let t=e.find(n);if(t?.digest===n.digest)return{workflow:t.definition};let r=t===void 0?"this worker has none of that name and version":`this worker has ${t.digest}`,{name:o,version:s,digest:a}=n;return{absent:`the run is pinned to workflow "${o}" version ${s} with digest ${a}; ${r}`}}i(mn,"pinnedWorkflow");var kd=3e4;async function Ho(n,e,t,r){let o=await t.ledger.workflows.buildOf(n.workflow),s=n.workflowAbsentSince,a=s===null?0:n.claimedAt.getTime()-s.getTime();if(o===null||a>=t.settings.deployOverlapMs){let m=o===null?"no build is known to have it":`build "${o}" is known to have it`,p=s===null?"it was never given back":`it was given back for ${Math.floor(a/1e3)} s, since ${s.toISOString()}`;return C("workflow_changed",`${e}; ${m}, and ${p}`)}let{name:d,version:u,digest:c}=n.workflow;return t.logFor(n).warn("this build lacks the run's workflow; its delivery goes back for one that has it",{workflow:d,version:u,digest:c,build:o,waitedSeconds:Math.floor(a/1e3)}),{kind:"given_back",dueAt:new Date(ye(n,t,r)+kd),why:"this build lacks its workflow",workflowAbsent:!0}}i(Ho,"endWithoutWorkflow");async function Ko(n,e,t,r){let o=new AbortController,s=!1,a=i(()=>o.abort(new DOMException("the containment does not go on here","AbortError")),"stop");r.onHop({fence:i(()=>{s=!0,a()},"fence"),drain:a});try{let d=(await e.ledger.items.ofRun(n)).filter(bd),u=mn(n.workflow,e.registry);if("absent"in u)return e.logFor(n).warn("a contain delivery has come to a build without the run's workflow",{workflow:n.workflow.name,version:n.workflow.version,digest:n.workflow.digest}),await fn(n,"refused",e);let c=await ln(n,u.workflow,e);if(!cn(c))return await fn(n,"refused",e);let m=new _e(n,u.workflow,c.journal,c.effects,e,t),p=d.map(A=>Bo(A.key)),w=new Map((await m.openCalls(c.input,p)).map(A=>[v(A.id),A])),I=await Promise.all(d.map(A=>xd(n,A,w.get(Bo(A.key)),o.signal,e)));return s?{kind:"fenced"}:await fn(n,I.every(Boolean)?"done":"failed",e)}catch(d){if(!(d instanceof N)&&!(d instanceof X))throw d;return e.logFor(n).error("a contain delivery could not be begun",{error:d.message}),fn(n,"refused",e)}}i(Ko,"carryContain");function Bo(n){return JSON.stringify(JSON.parse(n))}i(Bo,"sameKey");function bd(n){return n.kind==="effect"&&n.acknowledgedAt===null}i(bd,"isOpenEffect");async function xd(n,e,t,r,o){if(t?.options.probe===void 0)return!1;let s=o.logFor(n),a=await lt(t.options.probe,{call:t.id,claim:n,options:t.options,log:s,hopSignal:r,overdueAfterMs:o.settings.overdueAfterMs,onOverdue:i(()=>mt({call:t.id,claim:n,log:s},o),"onOverdue")});if(typeof a=="string"||a.outcome==="unknown")return s.warn("an effect of an ending run is still unknown",{step:t.id.name,reason:typeof a=="string"?a:"unknown"}),!1;let d=a.outcome==="happened"?"it has happened":"it has not happened, and cannot any more";return await o.ledger.items.acknowledge(n,{kind:"effect",key:e.key,by:"probe",words:d,under:n})!==null}i(xd,"settleEffect");async function fn(n,e,t){let{settled:r,ended:o}=await t.ledger.deliveries.settleContainIfClaimed(n,e);return r?(o===null&&(e!=="done"&&await t.ledger.runs.raiseAttention(n,`containment ${e}: an effect is still unknown`),await t.ledger.items.containSooner(n,t.settings.maxContainDeliveries)),{kind:"contained",outcome:e}):{kind:"fenced"}}i(fn,"finish");async function Jo(n,e,t,r){await r.faults("worker.before-handover",n.runId);let o=await r.ledger.deliveries.yieldIfClaimed(n,{workflowDigest:n.workflow.digest,journalLength:e.length,journalDigest:yt(e)},{idle:t.idle,publisherGraceSeconds:r.settings.publisherGraceSeconds});return await r.faults("worker.after-handover",n.runId),o===null?{kind:"fenced"}:(await Ed(n,o,r),{kind:"handed_over",why:t.why})}i(Jo,"handOver");async function ht(n,e,t){await t.faults("worker.before-handover",n.runId);let r=await t.ledger.deliveries.giveBackIfClaimed(n,e.dueAt,e.workflowAbsent);return await t.faults("worker.after-handover",n.runId),r===null?{kind:"fenced"}:{kind:"handed_over",why:e.why}}i(ht,"giveBack");async function Ed(n,e,t){let{tenantId:r,runId:o}=n;await t.publisher.publish({tenantId:r,runId:o,enqueueSeq:e.enqueueSeq,queue:e.queue})}i(Ed,"publish");async function Vo(n,e,t,r){let{tenantId:o,runId:s}=n,a=t.kind==="returned"?await Sd(e,t.output):t.failure;if(Id(a)){let u=await r.codec.encode(JSON.stringify(a),{tenantId:o,runId:s,kind:"error"});return{status:"FAILED",errorCode:a.code,errorText:u,errorDigest:q(u)}}if(a.text===void 0)return{status:"DONE",outputText:null,outputDigest:null};let d=await r.codec.encode(a.text,{tenantId:o,runId:s,kind:"output"});return{status:"DONE",outputText:d,outputDigest:q(d)}}i(Vo,"settlementOf");function Id(n){return"code"in n}i(Id,"isFailure");async function Sd(n,e){try{let t=await n?.output?.safeParseAsync(e);return t!==void 0&&!t.success?{code:"output_invalid",name:"Refused",message:`what the workflow returned does not fit its output schema: ${t.error.issues.slice(0,10).map(o=>`/${o.path.map(String).join("/")}: ${o.message}`).join("; ").slice(0,1500)}`}:{text:ne(t===void 0?e:t.data)}}catch(t){return t instanceof O?{code:t.reason,name:"Refused",message:`what the workflow returned: ${t.message}`}:{code:"output_invalid",name:"Refused",message:`the output schema threw: ${x(t).message.slice(0,500)}`}}}i(Sd,"outputOf");async function Qo(n,e,t){await t.faults("worker.before-settle",n.runId);let r=await t.ledger.deliveries.settleIfClaimed(n,e);return await t.faults("worker.after-settle",n.runId),r}i(Qo,"settle");async function Yo(n,e,t,r){try{await e.faults("worker.after-claim",n.runId);let o=n.cause==="contain"?await Ko(n,e,t,r):await vd(n,e,t,r);return o.kind==="fenced"&&await Cd(n,e),o}catch(o){return o instanceof N?Ad(n,o.message,e):o instanceof X?Rd(n,o,e,t):{kind:"unknown",error:o}}}i(Yo,"carry");async function vd(n,e,t,r){let o=mn(n.workflow,e.registry);if("absent"in o){let u=await Ho(n,o.absent,e,t);return Oe(n,u,e,t,void 0)}let s=await ln(n,o.workflow,e);if(!cn(s))return Oe(n,s,e,t,void 0);if(n.deadlineAt!==null&&n.claimedAt>=n.deadlineAt){let u=`the run's deadline ${n.deadlineAt.toISOString()} had passed when a worker claimed it`;return Oe(n,C("deadline",u),e,t,void 0)}if(n.workflowAbsentSince!==null&&!await e.ledger.runs.clearAbsenceIfClaimed(n))return{kind:"fenced"};let a=new _e(n,o.workflow,s.journal,s.effects,e,t);r.onHop(a);let d=await a.run(s.input);return Oe(n,d,e,t,a)}i(vd,"carryHop");async function Oe(n,e,t,r,o){switch(e.kind){case"fenced":case"unknown":return e;case"given_back":return ge(()=>ht(n,e,t),wt(n,t,r,o));case"yielded":{let s=e.why==="time"&&o?.journal().length===n.journalLength;return!s||n.idleYields===0?ge(()=>Jo(n,o?.journal()??[],{why:e.why,idle:s},t),wt(n,t,r,o)):Oe(n,C("no_progress",qd),t,r,o)}case"returned":case"failed":{let s=t.registry.find(n.workflow)?.definition,a=await Vo(n,s,e,t),d=await ge(()=>Qo(n,a,t),wt(n,t,r,o));return d.settled?(a.status==="FAILED"&&a.errorCode==="effect_unknown"&&await t.ledger.runs.raiseAttention(n,"effect_unknown: an effect may or may not have happened"),{kind:"settled",status:d.runStatus}):{kind:"fenced"}}}}i(Oe,"conclude");function wt(n,e,t,r){return{chance:e.chance,mayGoOn:i(()=>r?.mayWrite()!==!1&&t.remainingMs()>e.settings.settleReserveMs/2,"mayGoOn"),onPause:i(o=>e.logFor(n).warn("the ledger is out of reach; the hop's end waits",{kind:o.kind}),"onPause")}}i(wt,"persistenceOf");var qd="two invocations in a row ended without a new journal entry: a step does not fit into one";async function Cd(n,e){try{await e.ledger.items.acknowledgeWorker(n)}catch(t){e.logFor(n).warn("a worker could not acknowledge its own end",{error:String(t).slice(0,200)})}}i(Cd,"acknowledge");async function Rd(n,e,t,r){t.logFor(n).error("a payload could not be decoded; the delivery goes back",{error:e.message});try{let o=new Date(ye(n,t,r)+3e4);return await ht(n,{kind:"given_back",dueAt:o,why:"a payload could not be decoded"},t)}catch(o){return{kind:"unknown",error:o}}}i(Rd,"later");async function Ad(n,e,t){try{return await t.ledger.runs.quarantineIfClaimed(n,e)?{kind:"quarantined",reason:e}:{kind:"fenced"}}catch(r){return{kind:"unknown",error:r}}}i(Ad,"quarantine");async function pn({tenantId:n,runId:e},t,{codec:r,log:o}){try{let s=await r.encode(JSON.stringify(t),{tenantId:n,runId:e,kind:"error"});return{errorText:s,errorDigest:q(s)}}catch(s){o.error("the codec could not write why a run ends; the next pass tries",{runId:e,code:t.code,error:x(s).message.slice(0,200)});return}}i(pn,"keptFailure");async function gn(n,e={}){let{ledger:t,publisher:r,faults:o,log:s,settings:a}=n,{found:d,next:u}=await t.deliveries.lapsed(n.pageSize,e);if(d.length===0)return{counts:{lapsed:0,resumed:0,failing:0,failed:0},next:void 0};await o("reanimation.after-select",`${d.length} lapsed`);let c=(await Promise.all(d.map(I=>Dd(I,n)))).flat(),m=await t.deliveries.settleLost(c,a);await o("reanimation.after-judgement",`${m.length} judged`);let p=m.filter(I=>I.status==="QUEUED");for(let{runId:I,status:A,enqueueSeq:S}of m)s.warn("a worker was lost",{runId:I,status:A,enqueueSeq:S});return await Promise.all(p.map(I=>r.publish(I))),{counts:{lapsed:d.length,resumed:p.length,failing:m.filter(I=>I.status==="FAILING").length,failed:d.length-c.length},next:u}}i(gn,"reanimate");async function Dd(n,e){if(n.onWorkerLoss==="resume"&&n.losses+1<e.settings.maxLosses)return[{...n,errorText:"",errorDigest:""}];let r={code:"ghoul_lost",name:"Lost",message:n.onWorkerLoss==="fail"?`the worker of delivery ${n.seq} was lost, and the workflow does not resume`:`the worker of delivery ${n.seq} was lost, and the run has used up its losses (${n.losses+1})`},o=await pn(n,r,e);return o===void 0?[]:[{...n,...o}]}i(Dd,"withFailure");var yn=class{static{i(this,"Heartbeat")}#e;#n=new Set;#t;#r;#i;#s;#o;constructor(e,t){this.#e=e,this.#t=t,this.#r=t}start(e){for(let r of e)this.#n.add(r);if(this.#n.size===0)return;let t=Math.max(10,Math.min(this.#e.beatMs,this.#e.leaseMs/10));this.#i=setInterval(()=>this.#d(),t),this.#o=this.#m([...this.#n])}remove(e){this.#n.delete(e),this.#n.size===0&&this.#a()}async stop(){this.#a(),this.#n.clear(),await this.#s,await this.#o}#a(){clearInterval(this.#i),this.#i=void 0}#c(){return{monotonicMs:this.#e.clock.monotonicMs(),wallMs:this.#e.clock.wallMs()}}#d(){let e=this.#c(),{leaseMs:t,beatMs:r}=this.#e;if(Xo(this.#t,e)>t*.9){this.#g("its own lease could not be extended in time");return}this.#s!==void 0||Xo(this.#r,e)<r||(this.#r=e,this.#s=this.#p(e).finally(()=>{this.#s=void 0}))}async#p(e){let{ledger:t,faults:r,leaseMs:o,log:s}=this.#e,a=[...this.#n];try{await r("worker.before-beat",`${a.length} claims`);let d=await t.deliveries.beatIfClaimed(a.map(m=>m.claim),o/1e3);this.#t=e;let u=a.filter(m=>d.has(`${m.claim.runId}:${m.claim.seq}`));for(let m of a)u.includes(m)||this.#f(m,"the ledger has given it to nobody or to another");let c=this.#o;this.#o=Promise.resolve(c).then(()=>this.#m(u))}catch(d){s.warn("a heartbeat failed",{claims:a.length,error:String(d).slice(0,200)})}}async#m(e){let{queue:t,queueName:r,leaseMs:o,log:s}=this.#e,a=e.filter(d=>this.#n.has(d)).flatMap(d=>d.receiptHandles);if(a.length!==0)try{let d=await t.changeVisibilities(r,a,Math.ceil(o/1e3));d.length>0&&s.warn("the visibility of messages could not be extended",{messages:d.length})}catch(d){s.warn("the visibility of messages could not be extended",{error:String(d).slice(0,200)})}}#g(e){for(let t of this.#n)this.#f(t,e)}#f(e,t){this.#n.delete(e)&&(this.#e.log.warn("a claim is fenced",{runId:e.claim.runId,enqueueSeq:e.claim.seq,why:t}),e.fence(t),this.#n.size===0&&this.#a())}};function Xo(n,e){return Math.max(e.monotonicMs-n.monotonicMs,e.wallMs-n.wallMs)}i(Xo,"since");async function Zo(n,e,t){let r=new Map;for(let s of n){let a=Fe(s.body);if(a===void 0)continue;let d=r.get(G(a));d===void 0?r.set(G(a),{...a,receiptHandles:[s.receiptHandle]}):d.receiptHandles.push(s.receiptHandle)}let o=await $d(r,e,t);return Promise.all(n.map(async s=>{let a=Fe(s.body);if(a===void 0)return e.log.error("a message is no delivery; it stays until the dead-letter queue takes it",{messageId:s.messageId,bytes:Buffer.byteLength(s.body)}),{messageId:s.messageId,done:!1,reason:"poison"};let d=o.get(G(a))??{done:!1,reason:"unknown_outcome"};return d.retryInSeconds!==void 0&&await jd(s,d.retryInSeconds,e,t),{messageId:s.messageId,done:d.done,reason:d.reason}}))}i(Zo,"work");async function $d(n,e,t){let r=[...n.values()];if(r.length===0)return new Map;if(e.draining.aborted)return new Map(r.map(u=>[G(u),{done:!1,reason:"draining",retryInSeconds:1}]));let o=new Map,s={monotonicMs:e.clock.monotonicMs(),wallMs:e.clock.wallMs()},a;try{a=await Ld(r,e,t)}catch(u){e.log.error("a batch could not be claimed; its messages go back",{count:r.length,error:_n(u)});let c={done:!1,reason:"unclaimed",retryInSeconds:Nd};return new Map(r.map(m=>[G(m),c]))}for(let[u,c]of await Od(a,n,s,e,t)){let m=Md(u,c,e);m!==void 0&&o.set(G({runId:u.runId,enqueueSeq:u.seq}),m)}let d=r.filter(u=>!o.has(G(u)));for(let[u,c]of await Td(d,e))o.set(u,c);return o}i($d,"carryAll");var Nd=10;async function Od(n,e,t,r,o){let{limitMs:s,remainingMs:a}=o,{leaseMs:d,beatMs:u}=r.settings,c=new yn({...r,leaseMs:d,beatMs:u,queueName:o.queue},t),m=n.map(S=>Pd(S,e.get(G({runId:S.runId,enqueueSeq:S.seq}))));c.start(m.map(S=>S.beating));let p=i(()=>m.forEach(S=>S.drain()),"drain");r.draining.addEventListener("abort",p,{once:!0}),r.draining.aborted&&p();let w=[],I=Promise.all(m.map(async S=>{let bn={limitMs:s,remainingMs:a,claimedAtMs:t.monotonicMs};w.push([S.claim,await Yo(S.claim,r,bn,{onHop:S.onHop})]),c.remove(S.beating)})),A=await $e(I,a()-r.settings.settleReserveMs/4);return r.draining.removeEventListener("abort",p),await c.stop(),A||r.exit(`${n.length-w.length} steps are in flight at the end of the invocation`),w}i(Od,"carryBatch");function Pd(n,e){let t,r,o=i(a=>{r=r==="fence"?r:a,t?.[a]()},"say"),s={claim:n,receiptHandles:e?.receiptHandles??[],fence:i(()=>o("fence"),"fence")};return{claim:n,beating:s,drain:i(()=>o("drain"),"drain"),onHop:i(a=>{t=a,r!==void 0&&a[r]()},"onHop")}}i(Pd,"carriedRun");function Ld(n,e,t){let r=Math.max(1,t.remainingMs()/1e3);return e.ledger.deliveries.claimIfDue(n.map(o=>({...o,token:e.ids.next()})),{worker:e.worker,leaseSeconds:e.settings.leaseMs/1e3,actsForSeconds:t.endsByForce?r+e.settings.actsMarginSeconds:null})}i(Ld,"claim");function Md(n,e,t){let r=t.logFor(n);switch(e.kind){case"settled":return r.info("run settled",{status:e.status,workflow:n.workflow.name}),{done:!0,reason:e.status};case"handed_over":return r.info("the run goes on in another hop",{why:e.why}),{done:!0,reason:"handed_over"};case"contained":return r.info("a contain delivery has ended",{outcome:e.outcome}),{done:!0,reason:`contain_${e.outcome}`};case"quarantined":return r.error("run quarantined",{reason:e.reason}),{done:!0,reason:"quarantined"};case"fenced":r.warn("the claim was taken away; nothing more was written");return;case"unknown":return r.error("the hop's outcome is unknown; the claim stays as it is",{error:_n(e.error)}),{done:!1,reason:"unknown_outcome"}}}i(Md,"verdictOf");async function Td(n,e){if(n.length===0)return[];try{let t=await e.ledger.deliveries.unclaimed(n),r=[...t].filter(([,o])=>o.deliveryStatus==="CLAIMED"&&(o.leaseEndsInSeconds??1)<=0);return r.length>0&&(await gn({...e,pageSize:r.length},{runIds:r.map(([o])=>o.slice(0,o.indexOf(":")))}),t=await e.ledger.deliveries.unclaimed(n)),n.map(o=>{let s=Fn(t.get(G(o))),{runId:a,enqueueSeq:d}=o;return e.log.info("a delivery was skipped",{runId:a,enqueueSeq:d,reason:s.reason}),[G(o),s.deleteMessage?{done:!0,reason:s.reason}:{done:!1,reason:s.reason,retryInSeconds:s.retryInSeconds}]})}catch(t){return e.log.error("skipped deliveries could not be read; their messages go back",{error:_n(t)}),[]}}i(Td,"explain");async function jd(n,e,t,r){try{await t.queue.changeVisibility(r.queue,n.receiptHandle,e)}catch(o){t.log.warn("a message's visibility could not be changed",{messageId:n.messageId,error:_n(o)})}}i(jd,"putBack");function G(n){return`${n.runId}:${n.enqueueSeq}`}i(G,"keyOf");function _n(n){let{name:e,message:t}=x(n);return`${e}: ${t}`.slice(0,300)}i(_n,"nameOf");function kt(n){return n.kind==="worker"?`worker-${n.key}`:`${n.kind}-${q(n.key).slice(0,12)}`}i(kt,"itemId");function ei(n){return{id:kt(n),kind:n.kind,subject:n.kind==="worker"?n.worker:Fd(n.key),enqueueSeq:n.seq,overAt:n.overAt?.toISOString()??null,createdAt:n.createdAt.toISOString(),acknowledgedAt:n.acknowledgedAt?.toISOString()??null,acknowledgedBy:n.acknowledgedBy,acknowledgement:n.acknowledgement}}i(ei,"itemView");function Fd(n){let[,,,e]=JSON.parse(n);return e}i(Fd,"stepOf");function ni({ledger:n,settings:e}){return{cancel:i(async(t,r,o)=>{if(!T(r))throw he();let s={tenantId:t.tenantId,runId:r},a=await n.runs.cancel(s,{actor:t.subject,reason:o},e.actsMarginSeconds);if(a===null)throw he();return{runId:r,cancelled:a.cancelled,status:a.status}},"cancel"),resolve:i(async(t,r,o,s)=>{if(!T(r))throw he();let a={tenantId:t.tenantId,runId:r},d=(await n.items.ofRun(a)).find(w=>w.acknowledgedAt===null&&kt(w)===o);if(d===void 0)throw he();let{kind:u,key:c}=d,m=await n.items.acknowledge(a,{kind:u,key:c,by:"operator",words:s},{actor:t.subject,reason:s});if(m===null)throw he();let p=m.ended??(await n.runs.get(a))?.status;if(p===void 0)throw he();return{runId:r,item:o,openItems:m.openItems,status:p}},"resolve")}}i(ni,"createControl");function he(){return new g("not_found","there is no such run, or no such open item of it",{fix:"Check the ids: `ghouls show <run id>` lists the items of a run."})}i(he,"absent");function ti(n){let{ledger:e,codec:t}=n;return{getRun:i(async(r,o)=>{if(!T(o))return;let s=await e.runs.get({tenantId:r,runId:o});return s===null?void 0:zd(s,await e.items.ofRun({tenantId:r,runId:o}),t)},"getRun"),listRuns:i(async(r,o,s)=>{let{runs:a,nextCursor:d}=await e.runs.page(r,o,s);return{runs:a.map(ri),nextCursor:d}},"listRuns"),getTimeline:i(async(r,o)=>{if(!T(o))return;let s={tenantId:r,runId:o},a=await e.runs.get(s);if(a===null)return;let[d,u]=await Promise.all([e.deliveries.ofRun(s),e.journal.read(s)]);return{runId:o,status:a.status,entries:Gd(a,d,u)}},"getTimeline")}}i(ti,"createReads");var hn=i(n=>n?.toISOString()??null,"iso");function ri(n){let e=i(t=>t===null?null:{reason:t.reason,at:t.at.toISOString()},"flag");return{runId:n.runId,workflow:n.workflow,status:n.status,queue:n.queue,priority:n.priority,agent:n.agent,idempotencyKey:n.idempotencyKey,requestedBy:n.requestedBy,enqueueSeq:n.enqueueSeq,steps:n.journalLength,errorCode:n.errorCode,attention:e(n.attention),quarantine:e(n.quarantine),pausedAt:hn(n.pausedAt),deadlineAt:hn(n.deadlineAt),createdAt:n.createdAt.toISOString(),startedAt:hn(n.startedAt),finishedAt:hn(n.finishedAt)}}i(ri,"summaryOf");async function zd(n,e,t){let{tenantId:r,runId:o}=n,s=i(async(a,d)=>a===null?null:JSON.parse(await t.decode(a,{tenantId:r,runId:o,kind:d})),"read");return{...ri(n),input:await s(n.inputText,"input"),output:await s(n.outputText,"output"),error:await s(n.errorText,"error"),containment:e.map(ei)}}i(zd,"viewOf");function Gd(n,e,t){let r=[{kind:"admitted",at:n.createdAt.toISOString()}];for(let s of e)r.push(...Wd(s));for(let s of t)r.push({kind:"step",at:s.completedAt.toISOString(),enqueueSeq:s.seq,ordinal:s.ordinal,name:s.name,nth:s.nth,outcome:s.outcome,tries:s.tries,startedAt:s.startedAt.toISOString()});n.finishedAt!==null&&r.push({kind:"finished",at:n.finishedAt.toISOString(),status:n.status,errorCode:n.errorCode});let o=i(s=>Ud.indexOf(s.kind),"rank");return r.toSorted((s,a)=>s.at===a.at?o(s)-o(a):s.at<a.at?-1:1)}i(Gd,"timelineOf");var Ud=["admitted","delivery","published","claimed","step","worker_ended","fenced","settled","finished"];function Wd(n){let{seq:e,cause:t,status:r,publications:o}=n,s=[{kind:"delivery",at:n.createdAt.toISOString(),enqueueSeq:e,cause:t,status:r,dueAt:n.dueAt.toISOString()}];n.publishedAt!==null&&s.push({kind:"published",at:n.publishedAt.toISOString(),enqueueSeq:e,publications:o});let a=n.claimedBy??"unknown";if(n.claimedAt!==null&&s.push({kind:"claimed",at:n.claimedAt.toISOString(),enqueueSeq:e,worker:a}),n.workerEndedAt!==null){let d=n.workerEnd??"unknown";s.push({kind:"worker_ended",at:n.workerEndedAt.toISOString(),enqueueSeq:e,worker:a,how:d})}return n.settledAt!==null&&n.outcome!==null&&s.push({kind:"settled",at:n.settledAt.toISOString(),enqueueSeq:e,outcome:n.outcome}),n.fencedAt!==null&&s.push({kind:"fenced",at:n.fencedAt.toISOString(),enqueueSeq:e}),s}i(Wd,"ofDelivery");async function oi(n,e){let{ledger:t,faults:r,log:o}=n,{found:s,next:a}=await t.items.due(n.pageSize,e);s.length>0&&await r("containment.after-select",`${s.length} runs`);let[d,u]=[0,0];for(let c of s)try{let m=await t.items.contain(c,n.settings.maxContainDeliveries);await r("containment.after-look",c.runId),m.ended!==null?(d+=1,o.info("a run has ended, and nothing of it can act any more",{runId:c.runId,status:m.ended})):m.needsWord&&await t.runs.raiseAttention(c,"containment: something of the run waits for a word")}catch(m){u+=1,o.warn("a run's items could not be looked at",{runId:c.runId,error:String(m).slice(0,200)})}return{counts:{due:s.length,ended:d,failed:u},next:a}}i(oi,"contain");async function ii(n,e){let{ledger:t,faults:r,log:o}=n,{found:s,next:a}=await t.deliveries.expiredHolds(n.pageSize,e);if(s.length===0)return{counts:{expired:0,ended:0,failed:0},next:void 0};await r("holds.after-select",`${s.length} expired`);let d=(await Promise.all(s.map(m=>Hd(m,n)))).flat(),u=await t.deliveries.expireHolds(d);await r("holds.after-expiry",`${u.length} ended`);for(let{runId:m,status:p}of u)o.info("a held run was not released in time",{runId:m,status:p});let c=s.length-d.length;return{counts:{expired:s.length,ended:u.length,failed:c},next:a}}i(ii,"expireHolds");async function Hd(n,e){let t={code:"hold_expired",name:"Expired",message:`the run was held until ${n.expiredAt.toISOString()}, and nobody released it`},r=await pn(n,t,e);return r===void 0?[]:[{...n,...r}]}i(Hd,"withFailure");async function si(n){let{ledger:e,queue:t,faults:r,log:o}=n,s=await e.deliveries.duePublications(n.pageSize);if(s.length===0)return{due:0,published:0,failed:0};await r("relay.after-select",`${s.length} due`);let{confirmed:a,failed:d}=await t.publish(s);await r("relay.after-publish",`${a.length} confirmed`),await e.deliveries.markPublished(a),await e.deliveries.markPublicationFailed(d);for(let{publication:c,reason:m}of d)o.warn("the relay could not publish a delivery",{runId:c.runId,reason:m});let u=new Set(a.map(c=>`${c.runId}:${c.enqueueSeq}`));for(let c of s)c.publications+1<An||!u.has(`${c.runId}:${c.enqueueSeq}`)||await e.runs.raiseAttention(c,"unclaimed: published again and again, and claimed by no worker");return{due:s.length,published:a.length,failed:d.length}}i(si,"relay");async function Pe(n,e,t,r){let o=e.remainingMs()/2,s={...t},a=0,d;try{for(;e.remainingMs()>Math.max(e.pageBudgetMs,s.failed>0?o:0);){let{counts:u,next:c}=await r(d);if(a+=1,s=Bd(s,u),c===void 0)break;d=c}return{...s,pages:a}}catch(u){return e.log.error("a pass was interrupted",{pass:n,error:String(u).slice(0,300)}),{...s,pages:a,error:u instanceof Error?u.name:"error"}}}i(Pe,"pass");function Bd(n,e){let t=Object.keys(n);return Object.fromEntries(t.map(r=>[r,n[r]+e[r]]))}i(Bd,"sum");async function wn(n){return{reanimation:await Pe("reanimation",n,{lapsed:0,resumed:0,failing:0,failed:0},e=>gn(n,{after:e})),holds:await Pe("holds",n,{expired:0,ended:0,failed:0},e=>ii(n,e)),containment:await Pe("containment",n,{due:0,ended:0,failed:0},e=>oi(n,e)),relay:await Pe("relay",n,{due:0,published:0,failed:0},async()=>{let e=await si(n);return{counts:e,next:e.published>0&&e.due>=n.pageSize?!0:void 0}})}}i(wn,"reconcile");var Kd=3e4;function ai(n){let{hint:e,clock:t,log:r,patienceMs:o=1e3}=n,s,a,d=i(()=>{if(s===void 0)return!1;let c=t.wallMs()-s.wallMs;return c>=0&&Math.max(c,t.monotonicMs()-s.monotonicMs)<Kd},"remembered"),u=i(async()=>{let c={monotonicMs:t.monotonicMs(),wallMs:t.wallMs()};try{await Ne(e.lower(c.wallMs,c.wallMs),o),s=c}catch(m){r.warn("the reconciler's hint could not be lowered; its hourly look stands in for it",{error:String(m).slice(0,200)})}finally{a=void 0}},"lower");return()=>d()?Promise.resolve():a??=u()}i(ai,"createLowering");function di(n,e){return n===void 0||n.dueAtMs<=e||li(n,e)?{connect:!0}:n.dueAtMs>e+36e5?{connect:!0}:{connect:!1,untilMs:n.dueAtMs}}i(di,"wakeOf");function ui(n,e,t){if(n!==void 0&&li(n,e))return;let r=t.atMs+36e5;if(t.dueInSeconds===null)return r;if(!(t.dueInSeconds<=120))return Math.min(r,t.atMs+Math.floor(t.dueInSeconds*1e3))}i(ui,"raisedTo");function li({openedAtMs:n},e){return n!==void 0&&e-n<12e4}i(li,"mayBeCommitting");async function ci(n){let{clock:e,hint:t,log:r,hintPatienceMs:o=1500}=n,s=e.wallMs(),a;try{a={state:await Ne(t.read(),o)}}catch(c){r.warn("the hint could not be read: the ledger is looked at",{error:String(c).slice(0,200)})}let d=di(a?.state,s);if(!d.connect)return{skipped:!0,until:new Date(d.untilMs).toISOString()};let u=await wn(n);return t.keeps&&a!==void 0&&Vd(u)&&await Jd(n,a.state,s),u}i(ci,"reconcileWhenDue");async function Jd({ledger:n,hint:e,clock:t,log:r,hintPatienceMs:o=1500},s,a){try{let d=t.wallMs(),u=ui(s,a,{atMs:d,dueInSeconds:await n.nextLook()});if(u===void 0)return;await Ne(e.raise(s?.version,d,u),o)}catch(d){r.warn("the hint could not be raised",{error:String(d).slice(0,200)})}}i(Jd,"raise");function Vd(n){return Object.values(n).every(e=>e.error===void 0&&e.pages>0&&(e.failed??0)===0)}i(Vd,"isWhole");var kn=class{static{i(this,"Registry")}#e=new Map;#n=new Map;constructor(e){for(let t of e){let{name:r,version:o}=t.definition,s=`${r}@${o}`;if(this.#e.has(s))throw new g("configuration_invalid",`workflow "${r}" version ${o} is registered twice`,{fix:"Give each registered workflow its own name or version."});this.#e.set(s,t);let a=this.#n.get(r);(a===void 0||a.definition.version<o)&&this.#n.set(r,t)}}all(){return[...this.#e.values()]}pins(){return this.all().map(({definition:e,digest:t})=>({name:e.name,version:e.version,digest:t}))}choose(e,t){let r=t===void 0?this.#n.get(e):this.#e.get(`${e}@${t}`);if(r===void 0){let o=t===void 0?`"${e}"`:`"${e}" version ${t}`;throw new g("unknown_workflow",`there is no workflow ${o}`,{fix:`Registered are: ${[...this.#e.keys()].join(", ")||"none"}.`})}return r}find(e){return this.#e.get(`${e.name}@${e.version}`)}};export{Ht as core,mi as engine,xo as ledger};
