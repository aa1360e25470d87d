/* engine 24, frozen by test/compat/freeze.ts */
var jd=Object.defineProperty;var s=(t,e)=>jd(t,"name",{value:e,configurable:!0});var Xr=(t,e)=>{for(var n in e)jd(t,n,{get:e[n],enumerable:!0})};var Ku={};Xr(Ku,{API_KEY_BYTES:()=>ai,ARM_OWNERS:()=>cu,ATTEMPT_MOVES:()=>Jd,ATTENTION_REASONS:()=>uw,BUILT_IN_ROLES:()=>nb,CALL_KINDS:()=>Yn,CONSENT_MOVES:()=>Vd,DEFAULT_QUEUE:()=>rr,DEFAULT_QUEUES:()=>Rw,DELIVERY_CAUSES:()=>no,DELIVERY_MOVES:()=>Hd,DELIVERY_OUTCOMES:()=>mi,DEPLOYMENT_DIMENSION:()=>eb,DEPLOYMENT_PERMISSIONS:()=>iu,ENDING_RUN:()=>X,ENDLESS_MS:()=>vw,END_OF_EVENTS:()=>Be,ERROR_CODES:()=>yw,EgressEvent:()=>Dw,EventsSettings:()=>Aw,FAULT_POINTS:()=>qw,GOING_ON_RUN:()=>Ge,GhoulsError:()=>x,JobReportShape:()=>ir,LOG_FIELDS:()=>Yw,LONGEST_RESIDENT_DELAY_MS:()=>Kt,MAX_CHUNK_BYTES:()=>gn,MAX_DELAY_SECONDS:()=>We,MAX_DEPTH:()=>ar,MAX_FAILURE_MESSAGE:()=>ro,MAX_FAILURE_STACK:()=>Qd,MAX_JOURNAL_BYTES:()=>wt,MAX_MISSES:()=>cn,MAX_SUBMISSIONS:()=>MP,MAX_VALUE_BYTES:()=>Wt,METRICS:()=>Xw,METRICS_NAMESPACE:()=>Zw,MOVES:()=>Zn,NonRetryableError:()=>Ye,NotDoneError:()=>At,ON_EXPIRY:()=>Rt,OPEN_DELIVERY:()=>fi,OPEN_RUN:()=>fe,PARENT_CLOSE:()=>lo,PASSES:()=>ot,PAUSE_SCOPES:()=>ao,PERMISSIONS:()=>pn,PUBLICATIONS_BEFORE_ATTENTION:()=>Di,PUBLICATION_DELAYS:()=>ur,PUBLISHER_GRACE_SECONDS:()=>Ke,QUARANTINE_REASONS:()=>lw,QUEUE_NAME:()=>nr,QueueSettings:()=>kw,RELEASE_ENTRY:()=>lu,ROLE_NAME:()=>rb,RUN_FAILURE_CODES:()=>Ni,RUN_MOVES:()=>Kd,RandomStream:()=>Vn,RetentionSettings:()=>Sw,SKIP_REASONS:()=>pi,START_OF_EVENTS:()=>or,STRANDED_CHECK:()=>rt,StepFailedError:()=>Gt,TimingSettings:()=>Iw,UnserializableError:()=>se,VERDICTS:()=>uo,afterExpiry:()=>ji,attentionText:()=>ie,callKey:()=>G,callerOf:()=>ib,canMove:()=>Yd,canonicalText:()=>Se,carriedBy:()=>Mw,closingsOf:()=>zi,deadLettersUrlVariable:()=>Ow,decideSkip:()=>er,decidersNaming:()=>mo,delayAfterFailure:()=>ub,delayAfterPublication:()=>db,describeCall:()=>Fe,describeFailure:()=>T,diagram:()=>hw,durationMs:()=>ne,errorInLog:()=>v,eventIdOf:()=>sr,formatMessage:()=>pw,formatWake:()=>gw,holds:()=>Si,idempotencyKeyOf:()=>_t,identityCodec:()=>$i,isDuration:()=>Ue,isPermission:()=>Ai,isRunId:()=>V,isSameDigest:()=>jt,isTerminalRun:()=>pe,isTold:()=>oo,judgeAnswer:()=>zt,judgeDeadLetter:()=>gi,judgeDecision:()=>Mi,judgementLines:()=>jw,judgementSummary:()=>ru,mintApiKey:()=>iw,nameInLog:()=>Te,namesRole:()=>cr,namesSubject:()=>co,nextAct:()=>Zr,nextLookSeconds:()=>eo,noEventStore:()=>sb,noFaults:()=>yi,noHint:()=>ob,noLiveStream:()=>dr,noMetrics:()=>tb,notDone:()=>ww,parkedAs:()=>Li,parseApiKey:()=>di,parseEventId:()=>_i,parseJson:()=>Ii,parseMessage:()=>yt,parseRelease:()=>fb,parseWake:()=>Qn,permissionsOf:()=>Ri,placeAfter:()=>Ut,principalIssues:()=>ab,queueUrlVariable:()=>$w,readAuthorityAnswer:()=>wi,readGrantAnswer:()=>bi,readJobAnswer:()=>so,readJobReport:()=>Bw,readSourceAnswer:()=>Ti,refusalOf:()=>Fw,releaseText:()=>mb,resolveBackoff:()=>lr,retryDelayMs:()=>bt,runLogger:()=>Bt,serialize:()=>de,sha256:()=>q,sha256OfBytes:()=>nw,sourcesOf:()=>Ft,sqlStates:()=>I,statesOf:()=>B,stepLimitMs:()=>Ew,terminalStatesOf:()=>Pe,undoKeyOf:()=>li,unreachableDatabase:()=>pb,wire:()=>st,workflowKey:()=>fr});import{timingSafeEqual as rw}from"node:crypto";import{crc32 as ow}from"node:zlib";import{createHash as zd}from"node:crypto";function q(t){return zd("sha256").update(t,"utf8").digest("hex")}s(q,"sha256");function nw(t){return zd("sha256").update(t).digest("hex")}s(nw,"sha256OfBytes");var sw=/^(ghouls_([0-9a-f]{16})_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/,ii=8,ai=ii+32;function iw(t){if(t.length!==ai)throw new TypeError(`a key is made of ${ai} random bytes`);let e=Buffer.from(t.subarray(0,ii)).toString("hex"),n=Ud(BigInt(`0x${Buffer.from(t.subarray(ii)).toString("hex")}`),43),r=`ghouls_${e}_${n}`,o=`${r}${Gd(r)}`;return{keyId:e,text:o,digest:Fd(o)}}s(iw,"mintApiKey");function di(t){let[,e,n,r]=sw.exec(t)??[];if(!(e===void 0||n===void 0||Gd(e)!==r))return{keyId:n,digest:Fd(t)}}s(di,"parseApiKey");function Fd(t){return q(t)}s(Fd,"digestOfKey");function jt(t,e){let[n,r]=[Buffer.from(t),Buffer.from(e)];return n.length===r.length&&rw(n,r)}s(jt,"isSameDigest");function Gd(t){return Ud(BigInt(ow(t)),6)}s(Gd,"checksumOf");var aw="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";function Ud(t,e){let n="";for(let r=t;n.length<e;r/=62n)n=`${aw[Number(r%62n)]}${n}`;return n}s(Ud,"base62");var cn=3,MP=5;function Zr({status:t,traits:e,demand:n,unsent:r,acknowledged:o}){return t==="DEFINED"||r&&!o?n==="now"?"submit":n==="later"?"wait":"drop":n==="no"&&e.cancel!=="none"?"cancel":e.lookup==="none"?"wait":"lookUp"}s(Zr,"nextAct");function zt(t,e){switch(e.state){case"succeeded":return{kind:"move",to:"SUCCEEDED",result:e.result};case"failed":return{kind:"move",to:"FAILED",error:e.error};case"accepted":return Wd(t,"SUBMITTED");case"running":return Wd(t,"RUNNING");case"cancelled":return t.late||t.traits.cancel==="final"?{kind:"move",to:"CANCELLED"}:{kind:"keep",missed:!1,why:"it is cancelled, but a submission may be on its way"};case"absent":return dw(t);case"unsent":return{kind:"keep",missed:!0,why:e.why};case"unknown":return Bd(t,e.why)}}s(zt,"judgeAnswer");function Wd(t,e){let{status:n,demand:r}=t,o=n==="RUNNING"||n===e;return r==="no"&&(o||n==="UNCERTAIN")?Bd(t,"it is to be cancelled, and the service says that it has it still"):o?{kind:"keep",missed:!1,why:"the service has it"}:{kind:"move",to:e}}s(Wd,"judgeLife");function dw(t){let{traits:e,late:n,remembered:r,acknowledged:o,demand:i,submissions:a}=t;return n?o?ln(t,"the service had it, and does not find it any more"):r?e.lookup!=="authoritative"?ln(t,"the service does not find it, which proves nothing"):i==="no"?{kind:"move",to:"CANCELLED"}:e.submit!=="idempotent"?ln(t,"it was not accepted, and may not be submitted twice"):a>=5?ln(t,`it was submitted ${a} times, and is not found`):i==="now"?{kind:"resubmit"}:{kind:"keep",missed:!1,why:"its run is under way"}:ln(t,"the service does not find it, and may have forgotten it by now: that proves nothing"):{kind:"keep",missed:!1,why:"it was asked about while a submission may be on its way"}}s(dw,"judgeAbsence");function Bd(t,e){return t.misses+1<3?{kind:"keep",missed:!0,why:e}:ln(t,e)}s(Bd,"missed");function ln({status:t},e){return t==="UNCERTAIN"?{kind:"keep",missed:!0,why:e}:{kind:"move",to:"UNCERTAIN",why:e}}s(ln,"uncertain");function eo(t,e){return Math.min(Math.max(t,3600),t*2**Math.min(e,4))}s(eo,"nextLookSeconds");var uw=["unclaimed","step_overdue","code_overdue","reservation_waits","holdings_unknown","release_unreachable","effect_unknown","attempt_uncertain","attempt_contradicted","containment","containment failed","containment refused"];function ie(t,e){let n=`${t}: `;return`${n}${e.slice(0,1e3-n.length)}`}s(ie,"attentionText");var lw={integrity:/^integrity: /,evidence:/^evidence: /,digest:/^(?!evidence: ).* disagrees with its digest$/s,journal:/^(?:the journal has .+ entries, the run says |journal entry .+ is missing$|the result of journal entry .+ is gone$)/,child:/^the end of child .+ is gone$/,checkpoint:/^checkpoint .+ (?:is missing|is of another workflow digest|disagrees with the journal)$/,accepts:/^workflow digest .+ accepts the run's, but /,release:/^the release of .+ is refused: /};import{createHash as ui}from"node:crypto";var Yn=["step","transaction","consent","delegate","child","sleep","signal","reserve","release"];function G(t){return JSON.stringify([t.epoch,t.scope,t.kind,t.name,t.nth])}s(G,"callKey");function Fe(t){let e=t.nth===1?"":` (use ${t.nth})`,n=t.scope===""?"":` in ${t.scope}`;return`${t.kind} "${t.name}"${e}${n}`}s(Fe,"describeCall");function _t(t,e){return ui("sha256").update(`ghouls-step-1
${t}
${G(e)}`).digest("hex")}s(_t,"idempotencyKeyOf");function li(t,e){return ui("sha256").update(`ghouls-undo-1
${t}
${G(e)}`).digest("hex")}s(li,"undoKeyOf");var Vn=class{static{s(this,"RandomStream")}#e;#t=0;constructor(e,n,r){this.#e=`ghouls-random-1
${JSON.stringify([e,n,r])}`}#n(){return this.#t+=1,ui("sha256").update(`${this.#e}
${this.#t}`).digest()}random(){return Number(this.#n().readBigUInt64BE()>>11n)/2**53}uuid(){let e=this.#n().subarray(0,16);e[6]=e[6]&15|64,e[8]=e[8]&63|128;let n=e.toString("hex");return`${n.slice(0,8)}-${n.slice(8,12)}-${n.slice(12,16)}-${n.slice(16,20)}-${n.slice(20)}`}};var ci="[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",cw=new RegExp(`^${ci}$`),mw=new RegExp(`^run:(${ci}):([1-9]\\d{0,8})$`),fw=new RegExp(`^wake:(${ci})$`);function V(t){return cw.test(t)}s(V,"isRunId");function pw(t){return`run:${t.runId}:${t.enqueueSeq}`}s(pw,"formatMessage");function yt(t){let e=mw.exec(t);if(e!==null)return{runId:e[1],enqueueSeq:Number(e[2])}}s(yt,"parseMessage");function gw(t){return`wake:${t}`}s(gw,"formatWake");function Qn(t){return fw.exec(t)?.[1]}s(Qn,"parseWake");var Xn=["QUEUED","FAILING","CANCELLING"],Kd={QUEUED:["RUNNING","FAILING","CANCELLING"],RUNNING:["AWAITING_HARDWARE","AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER","QUEUED","COMPLETING","DONE","FAILING","FAILED","CANCELLING"],AWAITING_HARDWARE:["RUNNING","QUEUED","FAILING","CANCELLING"],AWAITING_CONSENT:Xn,AWAITING_DELEGATE:Xn,AWAITING_CHILD:Xn,AWAITING_SIGNAL:Xn,AWAITING_TIMER:Xn,COMPLETING:["DONE"],FAILING:["FAILED"],CANCELLING:["CANCELLED"],DONE:[],FAILED:[],CANCELLED:[]},Hd={HELD:["PENDING","FENCED"],PENDING:["CLAIMED","FENCED"],CLAIMED:["SETTLED","FENCED"],SETTLED:[],FENCED:[]},to=["SUCCEEDED","FAILED","CANCELLED"],Jd={DEFINED:["SUBMITTING","CANCELLED"],SUBMITTING:["SUBMITTED","RUNNING",...to,"UNCERTAIN"],SUBMITTED:["RUNNING",...to,"UNCERTAIN"],RUNNING:[...to,"UNCERTAIN"],UNCERTAIN:["SUBMITTING","SUBMITTED","RUNNING",...to],SUCCEEDED:[],FAILED:[],CANCELLED:[]},Vd={PENDING:["GRANTED","DENIED","EXPIRED","CANCELLED"],GRANTED:[],DENIED:[],EXPIRED:[],CANCELLED:[]},Zn={run:Kd,delivery:Hd,attempt:Jd,consent:Vd},mi=["done","failed","parked","continued","lost","given_back","refused"],no=["admitted","resumed","continued","recovered","contain"];function B(t){return Object.keys(Zn[t])}s(B,"statesOf");function Yd(t,e,n){return Zn[t][e]?.includes(n)??!1}s(Yd,"canMove");function Ft(t,e){return B(t).filter(n=>Yd(t,n,e))}s(Ft,"sourcesOf");function Pe(t){return B(t).filter(e=>(Zn[t][e]??[]).length===0)}s(Pe,"terminalStatesOf");var fi=B("delivery").filter(t=>!Pe("delivery").includes(t)),fe=B("run").filter(t=>!Pe("run").includes(t)),Ge=Ft("run","CANCELLING"),X=fe.filter(t=>!Ge.includes(t));function pe(t){return Pe("run").includes(t)}s(pe,"isTerminalRun");function I(t){for(let e of t)if(!/^[A-Z_]+$/.test(e))throw new TypeError(`not a state: ${e}`);return t.map(e=>`'${e}'`).join(", ")}s(I,"sqlStates");function hw(t){let e=Object.entries(Zn[t]).flatMap(([n,r])=>r.length===0?[`    ${n} --> [*]`]:r.map(o=>`    ${n} --> ${o}`));return["stateDiagram-v2",`    [*] --> ${B(t)[0]}`,...e].join(`
`)}s(hw,"diagram");var pi=["unknown","terminal","settled","fenced","superseded","held","early","claimed","paused","quarantined","ending","contended"],_w=43e3,mn=s(t=>({reason:t,deleteMessage:!0,retryInSeconds:0}),"gone"),fn=s((t,e)=>({reason:t,deleteMessage:!1,retryInSeconds:Math.min(_w,Math.max(1,Math.ceil(e)))}),"back");function er(t){return t===void 0?fn("unknown",30):pe(t.runStatus)?mn("terminal"):t.deliveryStatus==="SETTLED"?mn("settled"):t.deliveryStatus==="FENCED"?mn("fenced"):t.seq<t.currentSeq?mn("superseded"):t.deliveryStatus==="CLAIMED"?fn("claimed",Math.max(5,t.leaseEndsInSeconds??30)):t.deliveryStatus==="HELD"?fn("held",30):t.quarantined?mn("quarantined"):t.paused&&t.cause!=="contain"?mn("paused"):t.runStatus!=="QUEUED"&&t.cause!=="contain"?fn("ending",30):t.dueInSeconds>0?fn("early",t.dueInSeconds):fn("contended",2)}s(er,"decideSkip");function gi(t,e){if(Qn(t)!==void 0)return{kind:"drop",reason:"timer"};let n=yt(t);if(n===void 0)return{kind:"keep",reason:"poison"};if(e===void 0)return{kind:"keep",reason:"unknown"};let{reason:r}=er(e);return r==="contended"?{kind:"republish",ref:n}:{kind:"drop",reason:r}}s(gi,"judgeDeadLetter");var yw=["invalid_request","malformed_json","unknown_workflow","unknown_queue","input_invalid","too_large","idempotency_conflict","admission_busy","not_found","unauthenticated","forbidden","hold_ended","run_ended","consent_closed","consent_changed","not_a_decider","too_many_signals","attempt_settled","attempt_under_way","child_open","not_redrivable","redriven_before","wrong_transaction","configuration_invalid","schema_outdated","integrity_fault","ledger_unavailable","outcome_unknown","queue_unavailable","codec_unavailable","identity_unavailable","internal"],x=class extends Error{static{s(this,"GhoulsError")}code;fix;issues;retryAfterSeconds;constructor(e,n,r={}){super(n,r.cause===void 0?void 0:{cause:r.cause}),this.name="GhoulsError",this.code=e,this.fix=r.fix,this.issues=r.issues,this.retryAfterSeconds=r.retryAfterSeconds}get inLog(){return`${this.name} ${this.code}`}},Ye=class extends Error{static{s(this,"NonRetryableError")}constructor(e,n){super(e,n),this.name="NonRetryableError"}},At=class extends Error{static{s(this,"NotDoneError")}constructor(e){super(e instanceof Error?e.message:String(e),{cause:e}),this.name="NotDoneError"}};function ww(t){return new At(t)}s(ww,"notDone");var Gt=class extends Error{static{s(this,"StepFailedError")}step;tries;failure;constructor(e,n,r,o="step"){super(`${o} "${e}" failed after ${n===1?"1 try":`${n} tries`}: ${r.message}`),this.name="StepFailedError",this.step=e,this.tries=n,this.failure=r}},ro=2e3,Qd=6e3;function T(t){try{if(t instanceof Error){let n=typeof t.stack=="string"?tr(t.stack,Qd):void 0;return{name:tr(String(t.name),200),message:tr(String(t.message),ro),...n===void 0?{}:{stack:n}}}if(typeof t=="string")return{name:"Error",message:tr(`a string was thrown: ${t}`,ro)};if(t==null)return{name:"Error",message:`${String(t)} was thrown, not an Error`};let e=JSON.stringify(t,(n,r)=>typeof r=="bigint"?String(r):r);return{name:"Error",message:tr(`a value that is no Error was thrown: ${e??typeof t}`,ro)}}catch{return{name:"Error",message:`a value of type ${typeof t} that cannot be described was thrown`}}}s(T,"describeFailure");function tr(t,e){return t.length<=e?t.toWellFormed():`${t.slice(0,e).toWellFormed()}\u2026 (${t.length-e} more characters)`}s(tr,"bounded");var hi={ms:1,s:1e3,m:6e4,h:36e5,d:864e5},bw=3650*hi.d;function Ue(t){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(t);return e===null?!1:Number(e[1])*hi[e[2]]<=bw}s(Ue,"isDuration");function ne(t){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(t);if(e===null||!Ue(t))throw new x("configuration_invalid",`"${String(t).slice(0,40)}" is not a duration`,{fix:'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).'});return Number(e[1])*hi[e[2]]}s(ne,"durationMs");import*as oe from"zod";import*as qe from"zod";var nt=qe.string().refine(t=>Ue(t),'write a whole number and a unit, such as "90s" or "15m"'),nr=/^[a-z][a-z0-9-]{0,31}$/,kw=qe.strictObject({batchSize:qe.int().min(1).max(10).default(5),concurrency:qe.int().min(1).max(1e3).default(2),worker:qe.enum(["function","process"],{error:'must be "function" or "process"'}).default("function"),functionTimeout:nt.refine(t=>!Ue(t)||ne(t)>=5e3&&ne(t)<=432e5,'from "5s" to "12h"').default("15m")}),xw=24*864e5;function Ew(t){return t?.worker==="process"?xw:ne(t?.functionTimeout??"15m")}s(Ew,"stepLimitMs");var vw=2147483647,Iw=qe.strictObject({lease:nt.default("120s"),beat:nt.default("30s"),actsMargin:nt.default("60s"),maxLosses:qe.int().min(1).max(100).default(3),deployOverlap:nt.default("1h")}),Sw=qe.strictObject({bodies:nt.optional(),steps:nt.default("30d"),repairs:nt.default("30d"),releases:nt.refine(t=>!Ue(t)||ne(t)>=36e5,"must be at least 1h").default("30d")}),Aw=qe.strictObject({keep:nt.refine(t=>!Ue(t)||ne(t)>=6e4&&ne(t)<=30*864e5,'must be from "1m" to "30d"').default("1d")}),Rw={runs:{batchSize:5,concurrency:2},rites:{batchSize:1,concurrency:2}},rr="runs";function $w(t){return`GHOULS_QUEUE_${t.toUpperCase().replaceAll("-","_")}_URL`}s($w,"queueUrlVariable");function Ow(t){return`GHOULS_DEAD_LETTERS_${t.toUpperCase().replaceAll("-","_")}_URL`}s(Ow,"deadLettersUrlVariable");var Xd={tenantId:oe.string(),runId:oe.string(),attemptId:oe.string(),idempotencyKey:oe.string()},Cw=oe.discriminatedUnion("kind",[oe.strictObject({kind:oe.literal("submit"),job:oe.strictObject({...Xd,requestText:oe.string(),callback:oe.strictObject({url:oe.string(),token:oe.string()}).nullable()})}),oe.strictObject({kind:oe.enum(["lookUp","cancel"]),job:oe.strictObject(Xd)})]),Dw=oe.strictObject({service:oe.string().regex(nr),question:Cw,timeoutMs:oe.int().min(1),untilMs:oe.int()});var or={enqueueSeq:0,stage:3,number:0,ordinal:0},Pw=/^(\d{1,10})\.([0-3])\.(\d{1,10})\.(\d{1,10})$/;function sr({enqueueSeq:t,stage:e,number:n,ordinal:r}){return`${t}.${e}.${n}.${r}`}s(sr,"eventIdOf");function _i(t){let e=Pw.exec(t);if(e===null)return;let[n=0,r=0,o=0,i=0]=e.slice(1).map(Number);return{enqueueSeq:n,stage:r,number:o,ordinal:i}}s(_i,"parseEventId");var Zd={published:1,claimed:2,settled:3,fenced:3};function oo(t,e){switch(t.kind){case"admitted":return e.enqueueSeq>0;case"step":return t.ordinal<=e.ordinal;case"published":case"claimed":case"settled":case"fenced":return t.enqueueSeq<e.enqueueSeq||t.enqueueSeq===e.enqueueSeq&&(Zd[t.kind]??0)<=e.stage;case"delivery":case"skipped":case"worker_ended":case"finished":case"chunk":case"emitted":case"gap":return!1}}s(oo,"isTold");function Ut(t,e){if(t.kind==="admitted")return{enqueueSeq:1,stage:0,number:0,ordinal:e.ordinal};if(t.kind==="step")return{...e,ordinal:Math.max(e.ordinal,t.ordinal)};let n=Zd[t.kind];return n===void 0||!("enqueueSeq"in t)?e:Nw(e,t.enqueueSeq,n)}s(Ut,"placeAfter");function Nw(t,e,n){return e<t.enqueueSeq?t:e>t.enqueueSeq?{...t,enqueueSeq:e,stage:n,number:0}:n>t.stage?{...t,stage:n}:t}s(Nw,"withDelivery");var qw=["ledger.before-statement","ledger.after-statement","ledger.before-commit","ledger.after-commit","secrets.before-read","secrets.after-read","releases.before-read","releases.after-read","releases.before-write","releases.after-write","releases.before-delete","releases.after-delete","events.before-put","events.after-put","events.before-read","events.after-read","queue.before-publish","queue.after-publish","queue.before-receive","queue.after-receive","queue.before-visibility","queue.after-visibility","queue.before-delete","queue.after-delete","admission.after-commit","redrive.after-commit","admission.after-publish","worker.after-claim","holdings.before-ask","holdings.after-ask","holdings.before-release","holdings.after-release","worker.before-beat","worker.before-intent","worker.after-intent","worker.before-step","worker.after-step","worker.before-undo","worker.after-undo","worker.before-transaction","worker.after-transaction","worker.after-journal","worker.before-child","worker.after-child","worker.before-reserve","worker.after-reserve","worker.before-release","worker.after-release","worker.before-tell-parent","worker.after-tell-parent","worker.before-handover","worker.before-adopt","worker.before-park","worker.after-park","worker.before-restart","worker.after-restart","worker.after-wake","timers.after-select","timers.after-resume","deadlines.after-select","deadlines.after-failure","consents.after-commit","consents.after-select","consents.after-look","signals.after-commit","delegate.before-claim","delegate.after-claim","delegate.after-submit","delegate.after-answer","delegates.after-select","delegates.after-look","callbacks.after-commit","worker.after-handover","worker.before-settle","worker.after-settle","worker.before-checkpoints","worker.after-checkpoints","worker.before-record","worker.after-record","worker.before-replay-check","worker.after-replay-check","endings.after-select","seals.after-select","retention.after-select","dead-letters.after-select","dead-letters.after-repair","relay.after-select","relay.after-publish","reanimation.after-select","reanimation.after-judgement","containment.after-select","containment.after-look","containment.after-cancel","children.after-select","children.after-tell","seals.before-seal","seals.after-seal","holds.after-select","holds.after-expiry","reconciler.after-degrade","reconciler.after-turns","egress.before-ask","egress.after-ask","states.before-ask","states.after-ask","hint.before-read","hint.after-read","hint.before-lower","hint.after-lower","hint.before-raise","hint.after-raise"],yi=s(()=>{},"noFaults");import*as he from"zod";var eu=he.string().transform(t=>t.toWellFormed().slice(0,1e3)),Tw=he.discriminatedUnion("outcome",[he.object({outcome:he.literal("valid")}),he.object({outcome:he.literal("revoked"),reason:eu})]),Lw=he.discriminatedUnion("outcome",[he.object({outcome:he.literal("granted"),value:he.unknown().optional(),expiresAt:he.date().optional(),release:he.custom(t=>typeof t=="function","must be a function").optional()}),he.object({outcome:he.literal("refused"),reason:eu})]);function wi(t){let e=Tw.safeParse(t);if(e.success)return e.data;throw new Error(`that is no answer of an authority check: ${tu(e.error)}`)}s(wi,"readAuthorityAnswer");function bi(t){let e=Lw.safeParse(t);if(!e.success)throw new Error(`that is no answer of a grant provider: ${tu(e.error)}`);if(e.data.outcome==="refused")return e.data;let{value:n,expiresAt:r,release:o}=e.data;return{outcome:"granted",value:n,...r===void 0?{}:{expiresAt:r},...o===void 0?{}:{release:s(()=>o.call(t),"release")}}}s(bi,"readGrantAnswer");function tu(t){let[e]=t.issues;return e===void 0?"":`${e.path.map(String).join(".")||"it"}: ${e.message}`}s(tu,"issueOf");function Mw(t){return t.flatMap(({name:e,digest:n,accepts:r})=>[n,...r].map(o=>({name:e,digest:o})))}s(Mw,"carriedBy");var rt="every open run has its code in this build or a release";function jw(t){return[...ru(t),...ou(t.refused)]}s(jw,"judgementLines");function ru(t){let{checks:e,states:n,repaired:r,newFaults:o,goneFaults:i,quarantined:a,acknowledged:d,refused:u}=t,l=[["STATUS","RUNS","CHECKED","FAULTY"],...n.map(f=>[f.status,String(f.runs),String(f.checked),String(f.faulty)])],c=[0,1,2,3].map(f=>Math.max(...l.map(p=>(p[f]??"").length))),m=s(f=>f.map((p,h)=>h===0?p.padEnd(c[0]??0):p.padStart(c[h]??0)),"line");return[...l.map(f=>m(f).join("  ").trimEnd()),"",`judged: ${e} checks; ${t.strandedJudged?"every open run was looked for in this build":"runs without their code were not looked for"}`,`repaired: ${nu(r,"terminal record")} written`,`found: ${o} new, ${i} gone; ${nu(a,"run")} quarantined`,`acknowledged: ${d.count}`,...ou(d),`refused: ${u.count}`]}s(ru,"judgementSummary");function ou({count:t,first:e}){return[...e.flatMap(({faultId:n,check:r,tenantId:o,subject:i,detail:a,acknowledged:d})=>[`  ${n}  not so: ${r}`,`    ${o===null?"":`${o} `}${i}: ${a}`,...d===null?[]:[`    ${d.at.toISOString()} by ${d.by}: ${d.reason}`]]),...t>e.length?[`  and ${t-e.length} more`]:[]]}s(ou,"faultLines");function nu(t,e){return`${t} ${e}${t===1?"":"s"}`}s(nu,"count");var zw="Runs without their code: put their digest into `accepts` of a workflow that may carry them on; or wait until they have ended; or cancel them (`ghouls cancel --workflow <name> --reason <text>`); or acknowledge, and they wait until a later build has their code.";function Fw(t,e){let{count:n,first:r}=t.refused;if(n===0)return;let o=[...new Set(r.map(({check:d})=>d))],i=o.some(d=>d!==rt),a=i?"the ledger contradicts itself":"open runs have their code neither in this build nor in a release";return new x("integrity_fault",`${a}, so ${e.stops}: ${o.map(d=>Gw(d,r)).join("; ")}`,{fix:[...i?["Look for each fault in the runbook (RUNBOOK.md of the package ghouls), and settle it."]:[],...o.includes(rt)?[zw]:[],`To let one stand: ${e.acknowledge} <fault> --reason "<why>"; then ${e.next}.`].join(" "),issues:[...r.map(({faultId:d,check:u,subject:l,detail:c})=>({path:d,message:`not so: ${u} (${l}): ${c}`})),...n>r.length?[{path:"\u2026",message:`and ${n-r.length} more`}]:[]]})}s(Fw,"refusalOf");function Gw(t,e){let n=e.filter(r=>r.check===t).map(({subject:r})=>r);return`not so: ${t} (${n.slice(0,3).join(", ")}${n.length>3?", \u2026":""})`}s(Gw,"inWords");import*as ae from"zod";var Uw=2e3,ki=s(t=>ae.object({state:ae.literal(t)}),"simple"),ir=ae.discriminatedUnion("state",[ki("accepted"),ki("running"),ki("cancelled"),ae.object({state:ae.literal("succeeded"),result:ae.unknown().optional()}),ae.object({state:ae.literal("failed"),error:ae.object({code:ae.string(),message:ae.string()})})]),Ww=ae.discriminatedUnion("state",[...ir.options,ae.object({state:ae.literal("absent")}),ae.object({state:ae.enum(["unsent","unknown"]),why:ae.string().transform(t=>t.slice(0,Uw))})]);function Bw(t){return ir.safeParse(t).data}s(Bw,"readJobReport");function so(t){let{data:e,error:n}=Ww.safeParse(t);if(e!==void 0)return e;let[r]=n.issues,o=r?.path.join(".")??"";return{state:"unknown",why:`the adapter answered what is no answer: ${o===""?"":`${o}: `}${r?.message}`}}s(so,"readJobAnswer");var ar=100,Kw=new Set(["__proto__","constructor","prototype"]),vi=JSON,Hw=JSON.parse;function Ii(t){if(Jw(t)>ar)throw new x("malformed_json",`the document is nested more than ${ar} levels deep`,{fix:"Flatten the document, or send it as one string."});let e;try{e=Hw(t,(r,o,i)=>typeof o=="number"?vi.rawJSON(i.source??String(o)):o)}catch(r){throw new x("malformed_json",`the document is not valid JSON: ${r.message.slice(0,200)}`,{fix:"Send one JSON document in UTF-8."})}let n=[];if(xi(e,"",n),n.length>0)throw new x("invalid_request","the document holds values that cannot be kept unchanged",{issues:n,fix:"Send large numbers as strings, and text without NUL and lone surrogates."});return{value:JSON.parse(t),canonical:Se(e),member:s(r=>{if(!(typeof e!="object"||e===null||!Object.hasOwn(e,r)))return Se(e[r])},"member")}}s(Ii,"parseJson");function Jw(t){let e=0,n=0,r=!1;for(let o=0;o<t.length;o+=1){let i=t.charCodeAt(o);r?i===92?o+=1:i===34&&(r=!1):i===34?r=!0:i===91||i===123?n=Math.max(n,e+=1):(i===93||i===125)&&(e-=1)}return n}s(Jw,"nestingOf");function xi(t,e,n){if(!(n.length>=20)){if(typeof t=="string"){let r=su(t);r!==void 0&&n.push({path:e,message:r});return}if(!(typeof t!="object"||t===null)){if(vi.isRawJSON(t)){let r=Number(JSON.stringify(t));Math.abs(r)>Number.MAX_SAFE_INTEGER&&n.push({path:e,message:"a number beyond 2^53 - 1 would not come back unchanged; send it as a string"});return}if(Array.isArray(t)){t.forEach((r,o)=>xi(r,`${e}/${o}`,n));return}for(let[r,o]of Object.entries(t)){let i=`${e}/${r.slice(0,100).toWellFormed()}`;Kw.has(r)&&n.push({path:i,message:"this key is not allowed"});let a=su(r);a!==void 0&&n.push({path:i,message:`the key: ${a}`}),xi(o,i,n)}}}}s(xi,"inspect");function su(t){if(t.includes("\0"))return"text with a NUL character is not taken";if(!t.isWellFormed())return"text with a lone surrogate is not taken"}s(su,"textProblem");function Se(t){return JSON.stringify(Ei(t))}s(Se,"canonicalText");function Ei(t){if(typeof t!="object"||t===null||vi.isRawJSON(t))return t;if(Array.isArray(t))return t.map(Ei);let e=Object.entries(t).toSorted(([n],[r])=>n<r?-1:1);return Object.fromEntries(e.map(([n,r])=>[n,Ei(r)]))}s(Ei,"sorted");var se=class extends Error{static{s(this,"UnserializableError")}reason;constructor(e,n){super(n),this.name="UnserializableError",this.reason=e}},Wt=1048576,wt=32*1048576;function de(t,e=Wt){if(t===void 0)return;let n;try{n=JSON.stringify(io(t,"",[]))}catch(o){throw o instanceof se?o:new se("unserializable",`it cannot be turned into JSON: ${T(o).message.slice(0,500)}`)}let r=Buffer.byteLength(n);if(r>e)throw new se("too_large",`it is ${r} bytes of JSON, the limit is ${e}`);return n}s(de,"serialize");function io(t,e,n){let r=e===""?"the value":`the value at ${e}`,o=s(d=>new se("unserializable",`${r} is ${d}, which JSON cannot hold`),"refuse");switch(typeof t){case"string":case"boolean":return t;case"number":if(!Number.isFinite(t))throw o(String(t));return t;case"undefined":case"bigint":case"symbol":case"function":throw o(`a value of type ${typeof t}`);case"object":}if(t===null)return null;if(n.includes(t))throw o("a cycle");if(n.length>ar)throw o(`nested more than ${ar} levels deep`);let i=[...n,t];if(t instanceof Date&&Number.isNaN(t.getTime()))throw o("an invalid Date");if("toJSON"in t&&typeof t.toJSON=="function"){let d=t.toJSON("");if(d===t)throw o("a cycle of toJSON");return io(d,e,i)}if(Array.isArray(t))return Array.from(t,(d,u)=>io(d,`${e}/${u}`,i));if(!Vw(t))throw o(`a ${t.constructor?.name??"class instance"}`);let a={};for(let[d,u]of Object.entries(t))u!==void 0&&Object.defineProperty(a,d,{value:io(u,`${e}/${d.slice(0,100)}`,i),enumerable:!0,configurable:!0,writable:!0});return a}s(io,"plain");function Vw(t){let e=Object.getPrototypeOf(t);return e===null||e===Object.prototype?!0:Object.getPrototypeOf(e)===null&&t.constructor?.name==="Object"}s(Vw,"isPlainObject");var Yw=["tenantId","runId","parentRunId","childRunId","enqueueSeq","messageId","requestId","armId","attemptId","keyId","consentId","faultId","workflow","version","step","try","channel","capacity","service","source","queue","pass","rule","owner","check","name","status","outcome","reason","why","kind","code","error","fix","digest","before","after","build","bytes","units","claims","messages","records","number","count","tries","lateSeconds","waitedSeconds","milliseconds"];function v(t){if(t instanceof x)return t.inLog;let e=Te(T(t).name),n=Qw(t);return n===void 0?e:`${e} ${n}`}s(v,"errorInLog");function Te(t){return/^[A-Za-z][\w$.]{0,60}$/.test(t)?t:"Error"}s(Te,"nameInLog");function Bt(t){let e=s(n=>(r,o)=>t[n](r,o===void 0?{}:{data:o}),"at");return{debug:e("debug"),info:e("info"),warn:e("warn"),error:e("error")}}s(Bt,"runLogger");function Qw(t){try{if(typeof t!="object"||t===null||!("code"in t))return;let{code:e}=t;return typeof e=="string"&&/^[A-Z][A-Z0-9_]{1,40}$|^[0-9A-Z]{5}$/.test(e)?e:void 0}catch{return}}s(Qw,"codeOf");var Xw={OldestUnrepaired:{unit:"Seconds",by:null},DegradedOwners:{unit:"Count",by:null},RunsWithAttention:{unit:"Count",by:null},QuarantinedRuns:{unit:"Count",by:null},IntegrityFaults:{unit:"Count",by:null},ForeignDeadLetters:{unit:"Count",by:null},PassesInterrupted:{unit:"Count",by:"pass"},Repairs:{unit:"Count",by:"pass"},TimerLateness:{unit:"Seconds",by:null},WorkersLost:{unit:"Count",by:null},DeliveriesSkipped:{unit:"Count",by:"reason"},RunsSettled:{unit:"Count",by:"status"}},Zw="Ghouls",eb="service",tb={record:s(()=>{},"record"),flush:s(()=>{},"flush")};var ot=["reanimation","holds","deadlines","timers","consents","delegates","containment","children","endings","seals","retention","dead-letters","relay"];var ao=["all","workflow","tenant"];function Si(t,e){return(t.tenantId===null||t.tenantId===e.tenantId)&&(t.workflow===null||t.workflow===e.workflow)}s(Si,"holds");var pn=["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","runs:pause","runs:redrive","signals:send","consents:read","consents:decide","attempts:read","attempts:resolve","workflows:read","integrity:acknowledge","deployment:pause","deployment:reconcile","deployment:integrity"],iu=["deployment:pause","deployment:reconcile","deployment:integrity"],nb={admin:pn.filter(t=>!iu.includes(t)),operator:["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","runs:pause","runs:redrive","signals:send","consents:read","attempts:read","attempts:resolve","workflows:read","integrity:acknowledge"],submitter:["runs:submit","runs:read","runs:release","runs:cancel","signals:send","consents:read","attempts:read","workflows:read"],decider:["runs:read","consents:read","consents:decide","attempts:read","workflows:read"],viewer:["runs:read","consents:read","attempts:read","workflows:read"]},rb=/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;function Ai(t){return pn.includes(t)}s(Ai,"isPermission");function Ri(t,e){let n=t.roles.flatMap(o=>Object.hasOwn(e,o)?e[o]??[]:[]),r=new Set([...n,...t.permissions??[]]);return pn.filter(o=>r.has(o))}s(Ri,"permissionsOf");var $i={encode:s(t=>Promise.resolve(t),"encode"),decode:s(t=>Promise.resolve(t),"decode")},We=900,ob={keeps:!1,read:s(()=>Promise.resolve(void 0),"read"),lower:s(()=>Promise.resolve(),"lower"),raise:s(()=>Promise.resolve(!1),"raise")},gn=16384,dr={write:s(()=>{},"write"),tell:s(()=>{},"tell"),end:s(()=>{},"end"),drain:s(()=>Promise.resolve(),"drain")},Be="end",sb={put:s(()=>Promise.resolve(),"put"),putMany:s(()=>Promise.resolve(0),"putMany"),read:s(()=>Promise.resolve({records:[],ended:!1,more:!1}),"read")};function ib(t,e){let{tenantId:n,subject:r}=t;return{tenantId:n,subject:r,roles:t.roles,permissions:Ri(t,e)}}s(ib,"callerOf");function ab(t){let e=typeof t=="object"&&t!==null?t:{},n=s((r,o)=>({path:`/principal/${r}`,message:o}),"issue");return[...["tenantId","subject"].filter(r=>typeof e[r]!="string"||e[r]==="").map(r=>n(r,"is missing")),...au(e.roles)?[]:[n("roles","is no list of names")],...e.permissions===void 0||au(e.permissions)?[]:[n("permissions","is no list of names")]]}s(ab,"principalIssues");function au(t){return Array.isArray(t)&&t.every(e=>typeof e=="string")}s(au,"isTexts");var Ke=15,Oi=[60,120,300,600,1800,3600],Ci=[5,10,30,60,120,300],Di=5;function db(t){return Oi[Math.min(Math.max(t,1),Oi.length)-1]}s(db,"delayAfterPublication");function ub(t){return Ci[Math.min(Math.max(t,1),Ci.length)-1]}s(ub,"delayAfterFailure");var ur={afterSuccess:Oi,afterFailure:Ci};import*as U from"zod";var uu=1,lu="index.mjs",Pi=U.string().regex(/^[0-9a-f]{64}$/),lb=U.string().refine(t=>/^[^\\]+$/.test(t)&&t.split("/").every(e=>!["",".",".."].includes(e))),cb=U.strictObject({format:U.literal(uu),workflow:U.strictObject({name:U.string(),version:U.int(),digest:Pi,onWorkerLoss:U.enum(["resume","fail"]),deadlineMs:U.number().nullable()}),basis:U.strictObject({tag:U.string(),name:U.string(),version:U.int(),input:U.unknown(),output:U.unknown(),modules:U.array(U.tuple([U.string(),Pi]))}),defines:U.record(U.string(),Pi),files:U.record(lb,U.union([U.string(),U.strictObject({base64:U.base64()})])).refine(t=>Object.hasOwn(t,lu))});function mb(t){let{workflow:e,basis:n,defines:r,files:o}=t;return`${JSON.stringify({format:uu,workflow:e,basis:n,defines:du(r),files:du(o)})}
`}s(mb,"releaseText");function fb(t){try{let{success:e,data:n}=cb.safeParse(JSON.parse(t));return e?n:void 0}catch{return}}s(fb,"parseRelease");function du(t){return Object.fromEntries(Object.entries(t).toSorted(([e],[n])=>e<n?-1:1))}s(du,"sorted");var Kt=1e4;function lr(t={}){let e=ne(t.initial??"200ms"),n={initialMs:e,factor:t.factor??2,maxMs:t.max===void 0?Math.max(Kt,e):ne(t.max)};if(!(n.factor>=1&&n.factor<=100))throw new x("configuration_invalid",`a backoff factor of ${String(t.factor)} is not taken`,{fix:"Give a factor from 1 to 100."});return n}s(lr,"resolveBackoff");function bt(t,e,n){let r=Math.min(t.maxMs,t.initialMs*t.factor**(e-2));return Math.round(r/2+r/2*n)}s(bt,"retryDelayMs");var Ni=["workflow_failed","step_failed","workflow_changed","journal_mismatch","duplicate_call","invalid_call","input_invalid","output_invalid","unserializable","too_large","deadline","out_of_time","no_progress","ghoul_lost","effect_unknown","hold_expired","authority_revoked","grant_refused"];function pb(t){let e=typeof t=="object"&&t!==null&&"code"in t?String(t.code):"",n=Object.entries(gb).find(([a])=>new RegExp(`^(?:${a})$`).test(e));if(n===void 0)return;let[r,o,i]=n[1];return{code:e,message:`${r} (${e})`,fix:o,passes:i}}s(pb,"unreachableDatabase");var gb={ENOTFOUND:["the database's host has no address","Check the host in the connection string: it may be spelled wrongly, or known in another network only.",!0],"ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH":["the database did not answer","Check host and port in the connection string, and that the server is running and can be reached from here.",!0],"28P01|28000":["the database refused the user or the password","Check both in the connection string: / ? # % and @ in a password are written %2F %3F %23 %25 and %40.",!1],"3D000":["there is no such database on the server","Create it, or check the path of the connection string.",!1],".*(?:CERT|ISSUER|VERIFY|ALTNAME|SIGNATURE).*":["the database's certificate is not trusted","Name the file of its authority with ?sslmode=verify-full&sslrootcert=/path/to/ca.pem.",!1]};import*as He from"zod";var hb=He.discriminatedUnion("outcome",[He.object({outcome:He.literal("pending")}),He.object({outcome:He.enum(["grant","deny"]),by:He.string().min(1).max(200),comment:He.string().max(4e3).optional()})]),qi=class extends Error{static{s(this,"NoDecisionError")}constructor(e){super(`it answered what is no decision: ${e}`),this.name="NoDecision"}};function Ti(t){let{data:e,error:n}=hb.safeParse(t);if(n!==void 0){let[a]=n.issues,d=a?.path.join(".")??"";throw new qi(`${d===""?"":`${d}: `}${a?.message}`)}if(e.outcome==="pending")return{outcome:e.outcome};let{outcome:r,by:o,comment:i}=e;return{outcome:r,by:o,...i===void 0?{}:{comment:i}}}s(Ti,"readSourceAnswer");var Rt=["expire","grant","deny"],uo=["grant","deny"],lo=["cancel","wait","abandon"],cu=["consent","delegate","child","signal","timer"],_b={consent:"AWAITING_CONSENT",delegate:"AWAITING_DELEGATE",child:"AWAITING_CHILD",signal:"AWAITING_SIGNAL",timer:"AWAITING_TIMER"};function Li(t){let e=cu.find(n=>t.includes(n));if(e===void 0)throw new TypeError("a run is parked on at least one arm");return _b[e]}s(Li,"parkedAs");function Mi(t,e,n=!1){if(!n){if(!yb(t.deciders,e))return{kind:"not_a_decider"};if(e.subject===t.requestedBy&&!t.requesterMayDecide)return{kind:"requester"}}if(e.digest!==t.requestDigest)return{kind:"changed"};let r=t.decisions.find(({by:i})=>i===e.subject);if(t.status==="PENDING"&&t.expired)return{kind:"expired"};if(r?.verdict===e.verdict)return{kind:"repeated",status:t.status};if(t.status!=="PENDING")return{kind:"closed",status:t.status,by:t.closedBy??"unknown"};if(r!==void 0)return{kind:"contradicts",verdict:r.verdict};if(e.verdict==="deny")return{kind:"counts",becomes:"DENIED"};let o=t.decisions.filter(({verdict:i})=>i==="grant").length+1;return{kind:"counts",becomes:n||o>=t.quorum?"GRANTED":"PENDING"}}s(Mi,"judgeDecision");function cr(t){return t.startsWith("role:")}s(cr,"namesRole");function co(t,e){return!cr(t)&&(t===e||t===`user:${e}`)}s(co,"namesSubject");function mo({subject:t,roles:e}){let n=[t,`user:${t}`].filter(r=>co(r,t));return[...new Set([...n,...e.map(r=>`role:${r}`)])]}s(mo,"decidersNaming");function yb(t,e){return mo(e).some(n=>t.includes(n))}s(yb,"isDecider");function ji(t){return t==="grant"?"GRANTED":t==="deny"?"DENIED":"EXPIRED"}s(ji,"afterExpiry");function zi(t){let e=new Set;return t.flatMap(n=>{let{armId:r,consent:o}=n;if(o!==void 0){if(o.status==="PENDING"||o.status==="CANCELLED")return[];let{consentId:d,status:u,closedBy:l,decisions:c}=o;return[{armId:r,resultText:JSON.stringify({outcome:u,consentId:d,by:l??"unknown",decisions:c})}]}if(n.attempt!==void 0)return wb(r,n.attempt);if(n.child!==void 0)return bb(r,n.child);let i=n.signals?.find(({signalId:d})=>!e.has(d));if(i!==void 0){e.add(i.signalId);let{signalId:d,from:u,at:l,payload:c}=i;return[{armId:r,signalId:d,resultText:JSON.stringify({outcome:"RECEIVED",payload:c,from:u,at:l})}]}if(!n.due)return[];if(n.retry)return[{armId:r,resultText:null}];let a=n.owner==="signal"?"TIMED_OUT":"ELAPSED";return[{armId:r,resultText:JSON.stringify({outcome:a})}]})}s(zi,"closingsOf");function wb(t,e){let{attemptId:n,status:r,overdue:o,report:i,digest:a}=e,d=s(u=>[{armId:t,resultText:JSON.stringify({attemptId:n,...u})}],"close");return r==="SUCCEEDED"||r==="FAILED"?d({outcome:r,report:i,digest:a}):r==="CANCELLED"?d({outcome:o?"DEADLINE":"CANCELLED"}):[]}s(wb,"attemptClosing");function bb(t,e){let{runId:n,status:r,text:o,digest:i}=e,a=s(d=>[{armId:t,resultText:JSON.stringify({runId:n,...d})}],"close");return r==="DONE"||r==="FAILED"?a({outcome:r,text:o,digest:i}):r==="CANCELLED"?a({outcome:r}):[]}s(bb,"childClosing");var st={};Xr(st,{Admitted:()=>bu,AttemptPage:()=>Ab,AttemptResolution:()=>Db,AttemptResolved:()=>Pb,AttemptSummary:()=>Eu,AttemptView:()=>Sb,BatchAdmitted:()=>Eb,BatchItem:()=>wu,BatchOutcome:()=>ku,BatchRequest:()=>xb,CALLBACK_TOKEN:()=>Ob,CALLBACK_TOKEN_HEADER:()=>$b,CancelFilter:()=>Su,CancelMatchingRequest:()=>Mb,Cancelled:()=>qb,CancelledMatching:()=>jb,Cleared:()=>Lb,ConsentPage:()=>Hb,ConsentSummary:()=>$u,ConsentView:()=>Kb,ContainmentItem:()=>Du,Decided:()=>Vb,DecisionRequest:()=>Jb,DegradedOwner:()=>Uu,DegradedPage:()=>Gu,EventBatch:()=>Tu,EventPage:()=>uk,FaultAcknowledged:()=>mk,FaultPage:()=>ck,FaultView:()=>Wi,HeldBy:()=>mr,IdempotencyKey:()=>hu,JobReport:()=>Rb,LABEL_KEY:()=>_u,Labels:()=>po,MAX_BATCH:()=>fo,MAX_BODY_BYTES:()=>fu,MAX_CANCEL:()=>Iu,MAX_PAGE:()=>pu,OpenWait:()=>Gi,PassAnswer:()=>Bu,PassState:()=>Fu,PassesRequest:()=>pk,PassesRun:()=>hk,PauseLifted:()=>Ub,PauseList:()=>Fb,PauseRequest:()=>zb,PauseSet:()=>Gb,PauseView:()=>go,PinnedList:()=>sk,Problem:()=>yk,ReasonRequest:()=>Nb,ReconcilerState:()=>fk,Redriven:()=>vb,RejectedResult:()=>Mu,Released:()=>Ib,RepairView:()=>Wu,Reported:()=>Cb,ReservedUnits:()=>Pu,Resolved:()=>Tb,RunCounts:()=>ok,RunError:()=>Cu,RunEvent:()=>qu,RunEvidence:()=>lk,RunPage:()=>tk,RunPaused:()=>Wb,RunRequest:()=>yu,RunSummary:()=>Ui,RunUnpaused:()=>Bb,RunView:()=>ek,SIGNAL_NAME:()=>Yb,SIGNAL_NAME_RULE:()=>Qb,SignalRequest:()=>Xb,Signalled:()=>Zb,StepCopy:()=>ju,TerminalRecord:()=>zu,Timeline:()=>nk,TimelineEntry:()=>ho,WORKFLOW_NAME:()=>hn,Whoami:()=>_k,WorkflowList:()=>rk,WorkflowRef:()=>Ht,WorkflowView:()=>Nu});import*as De from"zod";import*as mu from"zod";var fu=1048576,fo=100,pu=200,S=mu.iso.datetime();import*as R from"zod";var hn=/^[a-z0-9][a-z0-9._-]{0,99}$/i,kb=R.string().regex(hn,'letters, digits, ".", "_" and "-", at most 100'),hu=R.string().min(1).max(200).regex(/^[\x21-\x7e]+$/,"printable ASCII without spaces"),_u=/^[a-z0-9][a-z0-9._/-]{0,62}$/,gu=16,po=R.record(R.string().regex(_u,'small letters, digits, ".", "_", "/" and "-", at most 63'),R.string().max(200).refine(t=>!new RegExp("\\p{Cc}","u").test(t)&&t.isWellFormed(),"has control characters")).refine(t=>Object.keys(t).length<=gu,`at most ${gu}`),yu=R.strictObject({workflow:kb.optional(),version:R.int().min(1).max(1e6).optional(),input:R.unknown().optional(),queue:R.string().regex(nr).optional(),priority:R.int().min(0).max(9).optional(),agent:R.string().min(1).max(200).optional(),labels:po.optional(),held:R.boolean().optional(),holdFor:R.string().refine(Ue,'such as "10m"').optional(),startAfter:R.string().refine(t=>Ue(t)||S.safeParse(t).success,'such as "2h" or "2030-01-31T08:00:00Z"').optional()}),wu=yu.extend({idempotencyKey:hu.optional()}),xb=R.strictObject({runs:R.array(wu).min(1).max(fo)}),Ht=R.object({name:R.string(),version:R.int(),digest:R.string()}),bu=R.object({runId:R.string(),created:R.boolean(),status:R.enum(B("run")),enqueueSeq:R.int(),workflow:Ht,queue:R.string(),priority:R.int(),held:R.boolean(),startsAt:S.nullable()}),ku=R.discriminatedUnion("outcome",[R.object({outcome:R.literal("admitted"),run:bu}),R.object({outcome:R.literal("conflict"),idempotencyKey:R.string(),detail:R.string()})]),Eb=R.object({runs:R.array(ku)}),vb=R.object({runId:R.string(),redriveOf:R.string(),created:R.boolean(),status:R.enum(B("run")),enqueueSeq:R.int(),workflow:Ht,queue:R.string(),priority:R.int(),kept:R.int().nullable(),from:R.object({kind:R.string(),name:R.string()}).nullable()}),Ib=R.object({runId:R.string(),enqueueSeq:R.int(),released:R.boolean()});import*as D from"zod";var xu={attemptId:D.string(),runId:D.string(),workflow:D.string(),name:D.string(),status:D.enum(B("attempt")),service:D.string(),executor:D.object({adapter:D.string(),version:D.string(),digest:D.string()}),digest:D.string(),idempotencyKey:D.string(),submissions:D.int(),uncertain:D.string().nullable(),trouble:D.object({why:D.string(),at:S}).nullable(),cancelling:D.enum(["deadline","ended","restart"]).nullable(),contradiction:D.string().nullable(),createdAt:S,acknowledgedAt:S.nullable(),heartbeatAt:S.nullable(),deadlineAt:S.nullable(),nextLookAt:S.nullable(),closedAt:S.nullable(),closedBy:D.string().nullable()},Eu=D.object(xu),vu=D.object({code:D.string(),message:D.string()}),Sb=D.object({...xu,request:D.unknown(),result:D.unknown(),error:vu.nullable()}),Ab=D.object({attempts:D.array(Eu),nextCursor:D.string().nullable()}),Rb=ir,$b="ghouls-callback-token",Ob=/^[A-Za-z0-9_-]{43}$/,Cb=D.object({attemptId:D.string(),status:D.enum(B("attempt"))}),Db=D.strictObject({outcome:D.enum(["succeeded","failed","cancelled"]),result:D.unknown().optional(),error:vu.extend({code:D.string().min(1).max(200),message:D.string().max(2e3)}).optional(),reason:D.string().trim().min(1).max(1e3)}).refine(t=>t.outcome!=="succeeded"||"result"in t,{path:["result"],message:"say what it gave: a word stands (null where it gives nothing)"}),Pb=D.object({attemptId:D.string(),runId:D.string(),status:D.enum(B("attempt")),resumed:D.boolean()});import*as P from"zod";var Nb=P.strictObject({reason:P.string().trim().min(1).max(1e3)}),qb=P.object({runId:P.string(),cancelled:P.boolean(),status:P.enum(B("run"))}),Tb=P.object({runId:P.string(),item:P.string(),openItems:P.int(),status:P.enum(B("run"))}),Lb=P.object({runId:P.string(),cleared:P.boolean(),status:P.enum(B("run"))}),Iu=100,Su=P.strictObject({status:P.array(P.enum(fe)).min(1).max(fe.length).optional(),workflow:P.string().regex(hn).optional(),admittedAfter:S.optional(),admittedBefore:S.optional(),parentRunId:P.uuid().optional(),attention:P.literal(!0).optional(),labels:po.optional()}).refine(t=>Object.keys(t).length>0,"names no run: give at least one of its members"),Mb=P.strictObject({filter:Su,reason:P.string().trim().min(1).max(1e3),dryRun:P.boolean().optional(),limit:P.int().min(1).max(Iu).optional(),cursor:P.string().min(1).max(500).optional()}),jb=P.object({dryRun:P.boolean(),cancelled:P.int(),ending:P.int(),ended:P.int(),runs:P.array(P.object({runId:P.string(),workflow:P.string(),outcome:P.enum(["cancelled","ending","ended"]),status:P.enum(B("run"))})),nextCursor:P.string().nullable()});import*as te from"zod";import*as k from"zod";import*as L from"zod";var Fi=L.string().trim().min(1).max(1e3),zb=L.discriminatedUnion("scope",[L.strictObject({scope:L.literal("all"),reason:Fi}),L.strictObject({scope:L.literal("workflow"),workflow:L.string().regex(hn),reason:Fi}),L.strictObject({scope:L.literal("tenant"),reason:Fi})]),go=L.object({pauseId:L.string(),scope:L.enum(ao),tenantId:L.string().nullable(),workflow:L.string().nullable(),by:L.string(),reason:L.string(),at:S}),Fb=L.object({pauses:L.array(go)}),Gb=L.object({created:L.boolean(),pause:go}),Ub=L.object({lifted:L.boolean(),pause:go}),mr=L.object({scope:L.enum(["run",...ao]),pauseId:L.string().nullable(),by:L.string(),reason:L.string(),at:S}),Wb=L.object({runId:L.string(),paused:L.boolean(),status:L.enum(B("run")),pauses:L.array(mr)}),Bb=L.object({runId:L.string(),unpaused:L.boolean(),status:L.enum(B("run")),pauses:L.array(mr)});import*as $ from"zod";var Au={consentId:$.string(),runId:$.string(),workflow:$.string(),title:$.string(),status:$.enum(B("consent")),digest:$.string(),deciders:$.array($.string()),quorum:$.int(),requestedBy:$.string(),requesterMayDecide:$.boolean(),onExpiry:$.enum(Rt),source:$.string().nullable(),createdAt:S,expiresAt:S.nullable(),closedAt:S.nullable(),closedBy:$.string().nullable()},Ru={by:$.string(),verdict:$.enum(uo),at:S},Kb=$.object({...Au,detail:$.unknown(),decisions:$.array($.object({...Ru,comment:$.string().nullable()}))}),$u=$.object({...Au,decisions:$.array($.object(Ru)),problem:$.string().nullable()}),Hb=$.object({consents:$.array($u),nextCursor:$.string().nullable()}),Jb=$.strictObject({verdict:$.enum(uo),digest:$.string().min(1).max(200),comment:$.string().trim().min(1).max(4e3).optional()}),Vb=$.object({consentId:$.string(),runId:$.string(),status:$.enum(B("consent")),repeated:$.boolean(),resumed:$.boolean()}),Yb=/^(?!\.{1,2}$)[\x21-\x7e][\x20-\x7e]{0,199}$/,Qb='printable ASCII of 1 to 200 characters that begins with no space, and neither "." nor ".."',Xb=$.strictObject({payload:$.unknown().optional()}),Zb=$.object({runId:$.string(),signalId:$.string(),repeated:$.boolean(),resumed:$.boolean()}),Gi=$.object({kind:$.enum(Yn),name:$.string(),scope:$.string(),dueAt:S.nullable(),consentId:$.string().nullable(),attemptId:$.string().nullable(),childRunId:$.string().nullable()});var Ou=k.object({reason:k.string(),at:S}),Ui=k.object({runId:k.string(),parentRunId:k.string().nullable(),redriveOf:k.string().nullable(),redrivenAs:k.string().nullable(),workflow:Ht,status:k.enum(B("run")),queue:k.string(),priority:k.int(),agent:k.string().nullable(),labels:k.record(k.string(),k.string()),idempotencyKey:k.string().nullable(),requestedBy:k.string(),enqueueSeq:k.int(),steps:k.int(),errorCode:k.string().nullable(),attention:Ou.nullable(),quarantine:Ou.nullable(),pausedAt:S.nullable(),pauses:k.array(mr),deadlineAt:S.nullable(),createdAt:S,startsAt:S.nullable(),startedAt:S.nullable(),finishedAt:S.nullable()}),Cu=k.object({code:k.enum(Ni),name:k.string(),message:k.string(),stack:k.string().optional(),step:k.string().optional()}),Du=k.object({id:k.string(),kind:k.enum(["worker","effect","attempt","child","undo"]),subject:k.string(),enqueueSeq:k.int(),overAt:S.nullable(),createdAt:S,tries:k.int(),lastError:k.string().nullable(),acknowledgedAt:S.nullable(),acknowledgedBy:k.string().nullable(),acknowledgement:k.string().nullable()}),Pu=k.object({capacity:k.string(),units:k.int(),name:k.string(),scope:k.string(),status:k.enum(["WAITING","AWAY","HELD","LEFT"]),askedAt:S,heldAt:S.nullable()}),ek=Ui.extend({waits:k.array(Gi),reservations:k.array(Pu),input:k.unknown(),output:k.unknown(),error:Cu.nullable(),bodiesEmptiedAt:S.nullable(),containment:k.array(Du)}),tk=k.object({runs:k.array(Ui),nextCursor:k.string().nullable()}),ho=k.discriminatedUnion("kind",[k.object({kind:k.literal("admitted"),at:S}),k.object({kind:k.literal("delivery"),at:S,enqueueSeq:k.int(),cause:k.enum(no),status:k.enum(B("delivery")),dueAt:S}),k.object({kind:k.literal("published"),at:S,enqueueSeq:k.int(),publications:k.int()}),k.object({kind:k.literal("claimed"),at:S,enqueueSeq:k.int(),worker:k.string(),cause:k.enum(no)}),k.object({kind:k.literal("step"),at:S,enqueueSeq:k.int(),ordinal:k.int(),call:k.enum(Yn),name:k.string(),scope:k.string(),nth:k.int(),outcome:k.enum(["ok","error"]),tries:k.int(),startedAt:S}),k.object({kind:k.literal("worker_ended"),at:S,enqueueSeq:k.int(),worker:k.string(),how:k.string()}),k.object({kind:k.literal("settled"),at:S,enqueueSeq:k.int(),outcome:k.enum(mi)}),k.object({kind:k.literal("fenced"),at:S,enqueueSeq:k.int(),why:k.string()}),k.object({kind:k.literal("skipped"),at:S,lastAt:S,enqueueSeq:k.int(),reason:k.enum(pi),times:k.int()}),k.object({kind:k.literal("finished"),at:S,status:k.enum(B("run")),errorCode:k.string().nullable()})]),nk=k.object({runId:k.string(),status:k.enum(B("run")),entries:k.array(ho)}),Nu=Ht.extend({queue:k.string(),onWorkerLoss:k.enum(["resume","fail"]),inputSchema:k.unknown(),outputSchema:k.unknown()}),rk=k.object({workflows:k.array(Nu)}),ok=k.object({since:S,bucketSeconds:k.int(),counted:k.int(),complete:k.boolean(),buckets:k.array(k.object({at:S,statuses:k.partialRecord(k.enum(B("run")),k.int())}))}),sk=k.object({pinned:k.array(Ht.extend({openRuns:k.int(),oldestAt:S,held:k.enum(["build","release","nowhere"])})),complete:k.boolean()});var ik=te.object({kind:te.literal("chunk"),at:S,enqueueSeq:te.int(),channel:te.string(),chunk:te.string()}),ak=te.object({kind:te.literal("emitted"),at:S,enqueueSeq:te.int(),name:te.string(),data:te.unknown()}),dk=te.object({kind:te.literal("gap"),at:S}),qu=te.discriminatedUnion("kind",[...ho.options,ik,ak,dk]),Tu=te.object({id:te.string(),events:te.array(qu)}),uk=te.object({batches:te.array(Tu),done:te.boolean(),nextAfter:te.string().nullable()});import*as z from"zod";var Lu={digest:z.string().nullable(),bytes:z.int().nullable(),body:z.unknown()},Mu=z.object({at:S,enqueueSeq:z.int(),worker:z.string(),kind:z.string(),name:z.string(),scope:z.string(),nth:z.int(),outcome:z.enum(["ok","error"]),reason:z.string(),...Lu}),ju=z.object({at:S,enqueueSeq:z.int(),kind:z.string(),name:z.string(),scope:z.string(),nth:z.int(),outcome:z.enum(["ok","error"]),ordinal:z.int().nullable(),tries:z.int(),startedAt:S,...Lu}),zu=z.object({digest:z.string(),bytes:z.int(),record:z.string().nullable(),at:S,agrees:z.boolean(),seal:z.object({number:z.int(),at:S,digest:z.string()}).nullable()}),lk=z.object({runId:z.string(),terminal:zu.nullable(),rejected:z.array(Mu),copies:z.array(ju),nextCursor:z.string().nullable()});import*as ue from"zod";var Wi=ue.object({faultId:ue.string(),check:ue.string(),tenantId:ue.string().nullable(),runId:ue.string().nullable(),subject:ue.string(),detail:ue.string(),open:ue.boolean(),foundAt:S,foundBy:ue.string(),seenAt:S,goneAt:S.nullable(),quarantine:ue.enum(["made","standing","ended","absent"]).nullable(),acknowledged:ue.object({by:ue.string(),reason:ue.string(),at:S}).nullable()}),ck=ue.object({faults:ue.array(Wi),nextCursor:ue.string().nullable()}),mk=ue.object({acknowledged:ue.boolean(),fault:Wi});import*as C from"zod";var _n=C.enum(ot),Le=C.int(),Fu=C.object({pass:_n,round:Le,roundUntil:S.nullable(),cursor:C.string().nullable(),reconciler:C.string().nullable(),startedAt:S.nullable(),endedAt:S.nullable(),pages:Le,found:Le,repaired:Le,failed:Le,error:C.string().nullable()}),Gu=C.object({pass:_n,pageId:C.string(),degradedAt:S,owners:Le,tries:Le,nextTurnAt:S}),Uu=C.object({pass:_n,owner:C.string(),tenantId:C.string(),runId:C.string().nullable(),pageId:C.string(),degradedAt:S,tries:Le,nextTurnAt:S,reason:C.string()}),Wu=C.object({repairId:C.string(),tenantId:C.string(),runId:C.string(),pass:_n,rule:C.string(),before:C.string(),after:C.string(),at:S}),fk=C.object({passes:C.array(Fu),degradedPages:C.array(Gu),degradedOwners:C.array(Uu),nextDegradedCursor:C.string().nullable(),repairs:C.array(Wu),nextCursor:C.string().nullable()}),pk=C.strictObject({passes:C.array(_n).min(1).max(ot.length).optional(),dryRun:C.boolean().optional()}),gk=C.object({tenantId:C.string(),runId:C.string().nullable(),owner:C.string(),rule:C.string(),before:C.string()}),Bu=C.object({pass:_n,did:C.enum(["ran","looked","later"]),found:Le,repaired:Le,left:Le,failed:Le,degraded:Le,error:C.string().nullable(),findings:C.array(gk),more:C.boolean()}),hk=C.object({dryRun:C.boolean(),passes:C.array(Bu)});import*as Qe from"zod";var _k=Qe.object({tenantId:Qe.string(),subject:Qe.string(),roles:Qe.array(Qe.string()),permissions:Qe.array(Qe.enum(pn))});var yk=De.object({type:De.string(),title:De.string(),status:De.int(),detail:De.string(),fix:De.string().optional(),requestId:De.string(),errors:De.array(De.object({path:De.string(),message:De.string()})).optional()});function fr({name:t,version:e}){return`${t}@${e}`}s(fr,"workflowKey");var cg={};Xr(cg,{DEFAULT_APPLICATION_ROLE:()=>Ja,DEFAULT_SCHEMA:()=>yn,DOCTOR_CHECKS:()=>Hl,DRIVERS:()=>Ql,END_ACT_RULES:()=>_r,END_OF_SAID:()=>yr,EVIDENCE_CHECKS:()=>hl,LedgerError:()=>W,MAX_BUFFERED_SIGNALS:()=>Nr,RECORDS_OF_SEAL:()=>xr,REDRIVE_REFUSALS:()=>pp,createRoles:()=>lg,executorOn:()=>wo,inCallersTransaction:()=>bo,migrate:()=>dg,migrationSql:()=>ag,openLedger:()=>rg,readRunsById:()=>_o,readRunsByKey:()=>bn,rolesSql:()=>Va,sqlStateOf:()=>Xe});var Hu=new Map,yn="ghouls",wk=/^[a-z_][a-z0-9_]{0,39}$/;function _(t,e){return Ju({name:t,text:Vu(t,e),writes:!1})}s(_,"readStatement");function y(t,e){return Ju({name:t,text:Vu(t,e),writes:!0})}s(y,"writeStatement");function Ju(t){if(Hu.has(t.name))throw new TypeError(`two statements are called ${t.name}`);return Hu.set(t.name,t),t}s(Ju,"listed");function Vu(t,e){return`/* ${t} */
${e.trim()}`}s(Vu,"tagged");function wn(t,e){if(!wk.test(t))throw new TypeError(`${e} "${t.slice(0,60)}" is not taken: use lower-case letters, digits and "_", at most 40`)}s(wn,"assertIdentifier");function Jt(t,e){return wn(e,"the schema name"),t.replace(/\bghouls\./g,`${e}.`)}s(Jt,"bindSchema");function g(t){let e=s((a,d)=>new TypeError(`column ${a} is ${typeof t[a]}, ${d} was expected`),"fail"),n=s(a=>{let d=t[a];if(typeof d!="string")throw e(a,"text");return d},"text"),r=s(a=>{let d=t[a],u=typeof d=="string"?Number(d):d;if(typeof u!="number"||!Number.isFinite(u))throw e(a,"a number");return u},"number"),o=s(a=>{let d=t[a];if(!(d instanceof Date))throw e(a,"a time");return d},"date"),i=s(a=>d=>t[d]===null?null:a(d),"orNull");return{text:n,textOrNull:i(n),texts:s(a=>{let d=t[a];if(!Array.isArray(d)||!d.every(u=>typeof u=="string"))throw e(a,"a list of texts");return d},"texts"),number:r,numberOrNull:i(r),boolean:s(a=>{let d=t[a];if(typeof d!="boolean")throw e(a,"a boolean");return d},"boolean"),date:o,dateOrNull:i(o)}}s(g,"rows");var Yu=s((t,{values:e,column:n,write:r})=>y(t,`
with bound as materialized (
  select set_config('lock_timeout', $1::text, true) as lock_timeout
), request as materialized (
  select t.*, greatest(ghouls.clock(), t.start_at, ghouls.clock() + t.start_ms * interval '1 millisecond') as starts_at
  from bound, unnest(
    $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::smallint[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::double precision[], $17::boolean[],
    $18::double precision[], $20::text[], $21::double precision[], $22::timestamptz[]${e}
  ) with ordinality as t(tenant_id, run_id, idempotency_key, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, agent, requested_by, requested_roles, input_text, input_digest, deadline_ms, held, hold_ms, on_worker_loss, start_ms, start_at${n}, position)
  where bound.lock_timeout is not null
  order by t.tenant_id, t.idempotency_key, t.position
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
    workflow_version, workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq,
    input_text, input_digest, deadline_at, created_at, on_worker_loss, starts_at)
  select q.tenant_id, q.run_id, q.run_id, q.idempotency_key, q.request_digest, q.workflow_name, q.workflow_version,
    q.workflow_digest, q.queue, q.priority, q.agent, q.requested_by,
    array(select jsonb_array_elements_text(q.requested_roles::jsonb)), 'QUEUED', 1, q.input_text, q.input_digest,
    q.starts_at + q.deadline_ms * interval '1 millisecond', ghouls.clock(), q.on_worker_loss,
    case when q.starts_at > ghouls.clock() then q.starts_at end
  from request q
  on conflict do nothing
  returning tenant_id, run_id, enqueue_seq, queue, priority, created_at
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, hold_expires_at,
    next_publication_at, created_at)
  select run.tenant_id, run.run_id, run.enqueue_seq, 'admitted', case when q.held then 'HELD' else 'PENDING' end,
    run.queue, run.priority, q.starts_at,
    case when q.held then ghouls.clock() + q.hold_ms * interval '1 millisecond' end,
    case when not q.held then
      q.starts_at + case when q.starts_at - ghouls.clock() <= $23::double precision * interval '1 second'
        then $19::double precision else 0 end * interval '1 second'
    end,
    ghouls.clock()
  from run join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  returning run_id
${r})
select delivery.run_id, case when q.starts_at > ghouls.clock() then q.starts_at end as starts_at,
  extract(epoch from q.starts_at - ghouls.clock())::double precision as due_in
from delivery
join request q on q.run_id = delivery.run_id`),"admitting"),bk=Yu("runs.admit",{values:"",column:"",write:""}),kk=Yu("runs.admit-labeled",{values:", $24::text[]",column:", labels",write:`), labeled as (
  insert into ghouls.labels (tenant_id, run_id, key, value, created_at)
  select run.tenant_id, run.run_id, label.key, label.value, run.created_at
  from run
  join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  cross join lateral jsonb_each_text(q.labels::jsonb) as label(key, value)
  returning run_id
`}),Qu=`run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished, run.starts_at,
  greatest(0, extract(epoch from d.due_at - ghouls.clock()))::double precision as due_in`,xk=_("runs.by-key",`
select ${Qu}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`),Ek=_("runs.by-id",`
select ${Qu}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`);async function Bi(t,e,n){let r=s(a=>e.map(a),"column"),o=e.some(({labels:a={}})=>Object.keys(a).length>0),i=await t.run(o?kk:bk,[String(n.lockTimeoutMs),r(a=>a.tenantId),r(a=>a.runId),r(a=>a.idempotencyKey),r(a=>a.requestDigest),r(a=>a.workflow.name),r(a=>a.workflow.version),r(a=>a.workflow.digest),r(a=>a.queue),r(a=>a.priority),r(a=>a.agent),r(a=>a.requestedBy),r(a=>JSON.stringify(a.requestedRoles)),r(a=>a.inputText),r(a=>a.inputDigest),r(a=>a.deadlineMs),r(a=>a.held),r(a=>a.holdMs),n.publisherGraceSeconds,r(a=>a.onWorkerLoss),r(({startAfter:a})=>a!==null&&"ms"in a?a.ms:null),r(({startAfter:a})=>a!==null&&"at"in a?a.at:null),We,...o?[r(a=>JSON.stringify(a.labels??{}))]:[]]);return new Map(i.map(a=>{let d=g(a);return[d.text("run_id"),{startsAt:d.dateOrNull("starts_at"),startsInSeconds:d.number("due_in")}]}))}s(Bi,"insertRunsIfKeyIsNew");async function bn(t,e){return(await t.run(xk,[e.map(r=>r.tenantId),e.map(r=>r.idempotencyKey)])).map(Xu)}s(bn,"readRunsByKey");async function _o(t,e){return(await t.run(Ek,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).map(Xu)}s(_o,"readRunsById");function Xu(t){let e=g(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),idempotencyKey:e.textOrNull("idempotency_key"),requestDigest:e.text("request_digest"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},queue:e.text("queue"),priority:e.number("priority"),status:e.text("status"),enqueueSeq:e.number("enqueue_seq"),held:e.boolean("held"),unpublished:e.boolean("unpublished"),dueInSeconds:e.number("due_in"),startsAt:e.dateOrNull("starts_at")}}s(Xu,"admittedRun");var vk=y("deliveries.release",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), released as (
  update ghouls.deliveries d
  set status = 'PENDING', due_at = greatest(d.due_at, ghouls.clock()),
    next_publication_at = greatest(d.due_at, ghouls.clock())
      + case when d.due_at - ghouls.clock() <= $4::double precision * interval '1 second'
        then $3::double precision else 0 end * interval '1 second'
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq
    and r.status = 'QUEUED' and d.status = 'HELD' and d.hold_expires_at > ghouls.clock()
  returning d.tenant_id, d.run_id, d.due_at
)
update ghouls.runs run
set starts_at = released.due_at,
  deadline_at = run.deadline_at + (released.due_at - coalesce(run.starts_at, run.created_at))
from released
where run.tenant_id = released.tenant_id and run.run_id = released.run_id
returning run.run_id`);async function Zu(t,e,n){return(await t.run(vk,[e.tenantId,e.runId,n,We])).length===1}s(Zu,"releaseDeliveryIfHeld");var Sk={retry:"ledger_unavailable",busy:"admission_busy",unavailable:"ledger_unavailable",unknown:"outcome_unknown",schema:"schema_outdated",defect:"internal"},Ak={retry:"Try again.",busy:"Try again: another transaction holds the same key.",unavailable:"Try again once PostgreSQL answers; check DATABASE_URL (or the secret) and the role's limits.",unknown:"Ask again under the same idempotency key: the answer tells whether it was committed.",schema:"Run `ghouls migrate` with the migrator's connection string."};function Rk(t,e){let n=(e instanceof x?e.fix:void 0)??Ak[t];return n===void 0?{}:{fix:n}}s(Rk,"fixOf");var W=class extends x{static{s(this,"LedgerError")}kind;sqlState;statement;constructor(e,n,r,o){super(Sk[e],`the ledger could not carry out ${n} (${e}${r?`, SQLSTATE ${r}`:""})`,{...Rk(e,o),...e==="defect"||e==="schema"?{}:{retryAfterSeconds:2},cause:o}),this.name="LedgerError",this.kind=e,this.sqlState=r,this.statement=n}get inLog(){return this.message}},el=new Set(["42P05","26000"]),$k=new Set(["40001","40P01",...el]),Ok=new Set(["25006","53000","53100","53200","53300","57014","25P03"]),Ck=new Set(["42P01","42703","42883","3F000"]);function kt(t,e){let n=Xe(t);return n===void 0?{kind:e?"unknown":"unavailable",sqlState:n}:$k.has(n)||yo(t)?{kind:"retry",sqlState:n}:n==="55P03"?{kind:"busy",sqlState:n}:Ok.has(n)?{kind:"unavailable",sqlState:n}:n.startsWith("57P")||n.startsWith("08")?{kind:e?"unknown":"unavailable",sqlState:n}:Ck.has(n)?{kind:"schema",sqlState:n}:{kind:"defect",sqlState:n}}s(kt,"classify");function tl(t){return t!==void 0&&el.has(t)}s(tl,"isNameRefused");function Dk(t){return/^(?:57P|08)/.test(t)||t==="25P03"||t==="25P04"}s(Dk,"hasEnded");function yo(t){return Xe(t)==="0A000"&&t instanceof Error&&"routine"in t&&t.routine==="RevalidateCachedQuery"}s(yo,"isPlanStale");function pr(t){let e=t instanceof W?t.sqlState:Xe(t),n=t instanceof W?t.cause:t;return e===void 0||Dk(e)||yo(n)}s(pr,"isOfNoUse");function Xe(t){if(typeof t!="object"||t===null||!("code"in t))return;let{code:e}=t;return typeof e=="string"&&/^[0-9A-Z]{5}$/.test(e)&&/\d/.test(e)?e:void 0}s(Xe,"sqlStateOf");var Pk=_("caller.state",`
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`),Nk=y("caller.restore","select set_config('lock_timeout', $1::text, true) as lock_timeout");function wo(t,e){return{run:s(async(n,r)=>{try{return(await t.query(Jt(n.text,e),[...r])).rows}catch(o){let{kind:i,sqlState:a}=kt(o,!1);throw new W(i,n.name,a,o)}},"run")}}s(wo,"executorOn");async function bo(t,e){let[n]=await t.run(Pk,[]),r=String(n?.isolation);if(r!=="read committed")throw new x("wrong_transaction",`an admission inside a ${r.toUpperCase()} transaction is refused`,{fix:"Use READ COMMITTED for the transaction that admits."});if(n?.begins_transaction===!0)throw new x("wrong_transaction","this connection is not inside a transaction",{fix:"Send BEGIN first, and COMMIT after your own statements; then publish the receipt."});let o=await e();return await t.run(Nk,[String(n?.lock_timeout)]),o}s(bo,"inCallersTransaction");var qk=y("repairs.record",`
insert into ghouls.repairs (tenant_id, run_id, repair_id, pass, rule, before_state, after_state, at)
select q.tenant_id, q.run_id, gen_random_uuid(), q.pass, q.rule, q.before_state, q.after_state, ghouls.clock()
from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[])
  as q(tenant_id, run_id, pass, rule, before_state, after_state)`),ko=300;async function le(t,e,n){await gr(t,[e],()=>n)}s(le,"recordRepair");async function gr(t,e,n){let r=e.flatMap(o=>{let i=n(o);return i===void 0?[]:[{...i,tenantId:o.tenantId,runId:o.runId}]});r.length!==0&&await t.run(qk,[r.map(({tenantId:o})=>o),r.map(({runId:o})=>o),r.map(({pass:o})=>o),r.map(({rule:o})=>o),r.map(({before:o})=>o.slice(0,ko)),r.map(({after:o})=>o.slice(0,ko))])}s(gr,"recordRepairs");var Tk={micros:"0",runId:"00000000-0000-0000-0000-000000000000"},K=s(t=>`(extract(epoch from ${t}) * 1000000)::bigint as micros`,"microsOf"),hr=s((t,e,n)=>`(${t}, ${e}) > (timestamptz 'epoch' + $${n}::bigint * interval '1 microsecond', $${n+1}::uuid)`,"behind");function nl(t){let{micros:e,runId:n}=t??Tk;return[e,n]}s(nl,"positionOf");function be(t,e,n){let r=t.length<e?void 0:t.at(-1);return{found:t.map(n),next:r&&{micros:g(r).text("micros"),runId:g(r).text("run_id")}}}s(be,"pageOf");var Vt=s((t,e)=>`${t} >= timestamptz 'epoch' + $2::bigint * interval '1 microsecond' and ${t} <= ghouls.clock()
    and ${t} <= coalesce($4::timestamptz, ghouls.clock())
    and (${t}, (${e}) collate "C") > (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::text)`,"behindOwner");function kn({limit:t,after:e,until:n}){return[t,e?.micros??"0",e?.runId??"",n??null]}s(kn,"lookValues");function xn(t,e,n){let r=t.length<e?void 0:t.at(-1);return{found:t.flatMap(o=>n(o)??[]),next:r&&{micros:g(r).text("micros"),runId:g(r).text("owner")}}}s(xn,"ownersOf");var Lk="e.tenant_id, e.run_id, e.act, e.ended_at, e.due_at",rl=s(t=>`(select ${Lk}, e.run_id::text || ' ${t}' as owner
  from ghouls.end_acts e
  where e.act = '${t}' and ${Vt("e.due_at",`e.run_id::text || ' ${t}'`)}
  order by e.due_at, e.run_id
  limit $1)`,"dueOf"),Mk=_("evidence.due-acts",`
select e.tenant_id, e.run_id, e.act, e.ended_at, e.owner, ${K("e.due_at")}
from (
  ${rl("record")}
  union all
  ${rl("checkpoints")}
) as e
order by e.due_at, e.owner collate "C"
limit $1`),jk=_("evidence.due-acts-of",`
select e.tenant_id, e.run_id, e.act, e.ended_at, e.run_id::text || ' ' || e.act as owner, ${K("e.due_at")}
from unnest($1::uuid[], $2::text[]) as q(run_id, act)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.end_acts e on e.tenant_id = run.tenant_id and e.run_id = run.run_id and e.act = q.act
order by e.due_at, e.act
limit $3`),zk=y("evidence.write-record",`
with made as materialized (
  select run.tenant_id, run.run_id, ghouls.terminal_text(run.tenant_id, run.run_id) as record_text
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.finished_at is not null
    and not exists (
      select from ghouls.terminal_records record where record.tenant_id = run.tenant_id and record.run_id = run.run_id)
), written as (
  insert into ghouls.terminal_records (tenant_id, run_id, record_text, record_digest, written_at)
  select made.tenant_id, made.run_id, made.record_text, ghouls.text_digest(made.record_text), ghouls.clock()
  from made
  on conflict (tenant_id, run_id) do nothing
  returning run_id
), done as (
  delete from ghouls.end_acts e
  using ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.finished_at is not null
    and e.tenant_id = run.tenant_id and e.run_id = run.run_id and e.act = 'record' and (select count(*) from written) >= 0
  returning e.run_id
)
select (select count(*) from written)::integer as written, (select count(*) from done)::integer as done`),Fk=y("evidence.delete-checkpoints",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.finished_at is not null
), written as (
  delete from ghouls.checkpoints c
  using r
  where c.tenant_id = r.tenant_id and c.run_id = r.run_id
  returning c.generation
), done as (
  delete from ghouls.end_acts e
  using r
  where e.tenant_id = r.tenant_id and e.run_id = r.run_id and e.act = 'checkpoints' and (select count(*) from written) >= 0
  returning e.run_id
)
select (select count(*) from written)::integer as written, (select count(*) from done)::integer as done`),Gk={record:zk,checkpoints:Fk};async function Ki(t,e){if(e.owners===void 0)return xn(await t.run(Mk,kn(e)),e.limit,ol);let n=e.owners.map(o=>[o.slice(0,36),o.slice(37)]);return{found:(await t.run(jk,[n.map(([o])=>o),n.map(([,o])=>o),e.limit])).map(ol),next:void 0}}s(Ki,"readDueActs");function ol(t){let e=g(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),act:e.text("act"),owner:e.text("owner"),endedAt:e.date("ended_at")}}s(ol,"actOf");async function sl(t,e,n){return(await Ji(t,e,n)).done}s(sl,"carryOutEndAct");async function Hi(t,{act:e,...n}){return t.transaction(`evidence.repair-${e}`,async r=>{let{done:o,written:i}=await Ji(r,n,e);if(o){let a=e==="record"?i>0?"written":"it was there":`${i} deleted`;await le(r,n,{pass:"endings",rule:_r[e],before:"left over",after:a})}return o})}s(Hi,"repairEndAct");async function il(t,e){let{found:n}=await Ki(t,{limit:e}),r=0;for(let o of n)o.act==="record"&&await Hi(t,o)&&(r+=1);return r}s(il,"writeDueRecords");var _r={record:"ended without its terminal record: write it",checkpoints:"ended with its checkpoints: delete them"};async function al(t,e){return(await Ji(t,e,"record")).written===1}s(al,"writeMissingRecord");async function Ji(t,e,n){let[r]=await t.run(Gk[n],[e.tenantId,e.runId]),o=g(r??{});return{done:o.number("done")>0,written:o.number("written")}}s(Ji,"carryOut");var Wk=_("evidence.emitted",`
select e.seq, e.number, e.call, e.completed_at, e.body_text
from ghouls.evidence e
where e.tenant_id = $1 and e.run_id = $2 and e.number is not null and e.body_text is not null
  and (e.seq, e.number) > ($3::integer, $4::integer) and (e.seq, e.number) < ($5::integer, $6::integer)
order by e.seq, e.number
limit $7`),dl=2147483647,yr={seq:dl,number:dl};async function ul(t,{tenantId:e,runId:n},r,o,i){let a=[r.seq,r.number,o.seq,o.number];return(await t.run(Wk,[e,n,...a,i])).map(u=>{let l=g(u);return{seq:l.number("seq"),number:l.number("number"),call:l.text("call"),at:l.date("completed_at"),bodyText:l.text("body_text")}})}s(ul,"readEmitted");var wr="bodies of ended runs agree with their digests",Vi=s((t,e)=>`(ghouls.text_digest(run.${t}) <> run.${e} or (run.${t} is null and run.${e} is not null and run.bodies_emptied_at is null))`,"bad"),Kk=_("evidence.verify-bodies",`
select run.tenant_id, run.run_id, ${Vi("input_text","input_digest")} as input, ${Vi("output_text","output_digest")} as output,
  ${Vi("error_text","error_digest")} as error
from unnest($1::text[], $2::uuid[]) as x(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
where run.finished_at is not null
order by run.tenant_id, run.run_id`),Hk=_("evidence.verify-journal",`
select j.tenant_id, j.run_id, j.ordinal, ghouls.text_digest(j.result_text) <> j.result_digest and exists (
    select from ghouls.runs run
    where run.tenant_id = j.tenant_id and run.run_id = j.run_id and run.finished_at is not null) as bad
from (
  select j.tenant_id, j.run_id, j.ordinal, j.result_text, j.result_digest
  from ghouls.journal j
  where (j.tenant_id, j.run_id, j.ordinal) > ($1, $2::uuid, $3::integer)
  order by j.tenant_id, j.run_id, j.ordinal
  limit $4) as j
order by j.tenant_id, j.run_id, j.ordinal`),Jk=y("evidence.bodies-gone",`
update ghouls.integrity_faults fault
set gone_at = ghouls.clock()
where fault.check_name = $1 and fault.gone_at is null and fault.seen_at < $2::timestamptz
returning fault.fault_id`),Vk=_("evidence.now","select ghouls.clock()::text as at"),ll=500;async function cl(t,e){return e.length===0?[]:(await t.run(Kk,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).flatMap(r=>{let o=["input","output","error"].filter(d=>r[d]===!0);if(o.length===0)return[];let i=g(r),a=`its stored ${o.join(" and ")} disagrees with its digest`;return[{tenantId:i.text("tenant_id"),runId:i.text("run_id"),detail:a}]})}s(cl,"verifyBodies");async function*ml(t){let e=["","00000000-0000-0000-0000-000000000000",0];for(;;){let n=await t.run(Hk,[...e,ll]);for(let r of n){let o=g(r);e=[o.text("tenant_id"),o.text("run_id"),o.number("ordinal")];let[i,a,d]=e;r.bad===!0&&(yield{tenantId:i,runId:a,detail:`the result of its journal entry ${d} disagrees with its digest`})}if(n.length<ll)return}}s(ml,"verifyResults");async function fl(t){let[e]=await t.run(Vk,[]),n=g(e??{}).text("at");return{end:s(async()=>{await t.run(Jk,[wr,n])},"end")}}s(fl,"bodiesLook");var Yk=_("runs.lock",`
select run.tenant_id, run.run_id, run.status
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
order by run.run_id
for update of run`);async function O(t,e){let n=await t.run(Yk,[e.map(r=>r.tenantId),e.map(r=>r.runId)]);return new Map(n.map(r=>[g(r).text("run_id"),g(r).text("status")]))}s(O,"lockRuns");var xo=`(${["containment","effect_unknown"].map(t=>`starts_with(run.attention_reason, '${t}')`).join(" or ")})`,Qk=y("runs.end-if-contained",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(X)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null)
  for update
), undo_due as (
  update ghouls.containment_items i
  set next_look_at = ghouls.clock()
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.undoable and run.status in (${I(X)})
    and i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'undo' and i.acknowledged_at is null
    and i.next_look_at > ghouls.clock() and not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind <> 'undo' and other.acknowledged_at is null)
  returning i.run_id
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status in (${I(fi.filter(t=>t!=="CLAIMED"))})
  returning d.run_id
)
update ghouls.runs run
set status = case r.status when 'COMPLETING' then 'DONE' when 'FAILING' then 'FAILED' else 'CANCELLED' end,
  finished_at = ghouls.clock(),
  attention_reason = case when ${xo} then null else run.attention_reason end,
  attention_at = case when ${xo} then null else run.attention_at end
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  and (select count(*) from fenced) >= 0 and (select count(*) from undo_due) >= 0
returning run.status`);async function ke(t,e){let[n]=await t.run(Qk,[e.tenantId,e.runId]);return n===void 0?null:g(n).text("status")}s(ke,"endRunIfContained");var Xk=y("integrity.note",`
with wanted as materialized (
  select distinct on (q.check_name, coalesce(q.tenant_id, ''), q.subject) q.*
  from unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[])
    as q(tenant_id, check_name, run_id, subject, detail, found_by)
  order by q.check_name, coalesce(q.tenant_id, ''), q.subject
)
insert into ghouls.integrity_faults as fault (fault_id, check_name, tenant_id, run_id, subject, detail, found_at, found_by, seen_at)
select gen_random_uuid(), w.check_name, w.tenant_id, w.run_id, w.subject, w.detail, ghouls.clock(), w.found_by, ghouls.clock()
from wanted w
order by w.check_name, coalesce(w.tenant_id, ''), w.subject
on conflict (check_name, coalesce(tenant_id, ''), subject) where gone_at is null
  do update set seen_at = ghouls.clock(), detail = excluded.detail
returning fault.fault_id, fault.found_at = fault.seen_at as is_new`);async function $t(t,e){return e.length===0?0:(await t.run(Xk,[e.map(r=>r.tenantId),e.map(r=>r.check),e.map(r=>r.runId),e.map(r=>r.subject),e.map(r=>r.detail.slice(0,1e3)),e.map(r=>r.foundBy)])).filter(r=>g(r).boolean("is_new")).length}s($t,"noteFaults");var xt="terminal evidence agrees with its run",ex=_("evidence.judge-records",`
select x.tenant_id, x.run_id, now.said is not null as ended, record.run_id is null as missing, record.record_digest,
  ghouls.text_digest(record.record_text) = record.record_digest as intact, record.record_text = now.said as agrees
from unnest($1::text[], $2::uuid[]) as x(tenant_id, run_id)
cross join lateral (select ghouls.terminal_text(x.tenant_id, x.run_id) as said offset 0) as now
left join ghouls.terminal_records record on record.tenant_id = x.tenant_id and record.run_id = x.run_id
order by x.tenant_id, x.run_id`),tx=y("evidence.quarantine",`
with made as (
  update ghouls.runs run
  set quarantine_reason = $3, quarantined_at = ghouls.clock()
  where run.tenant_id = $1 and run.run_id = $2 and run.quarantined_at is null and run.finished_at is not null
  returning run.tenant_id, run.run_id
), said as (
  update ghouls.integrity_faults fault
  set quarantine = 'made'
  from made
  where fault.check_name = $4 and coalesce(fault.tenant_id, '') = made.tenant_id and fault.subject = made.run_id::text and fault.gone_at is null
  returning fault.fault_id
)
select made.run_id from made where (select count(*) from said) >= 0`),nx=y("evidence.doubt",`
with taken as (
  delete from ghouls.end_acts e
  where e.tenant_id = $1 and e.run_id = $2 and e.act = 'seal'
  returning e.tenant_id, e.run_id, e.ended_at
)
insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
select taken.tenant_id, taken.run_id, 'doubt', taken.ended_at, ghouls.clock() + interval '1 hour'
from taken
on conflict (tenant_id, run_id, act) do nothing
returning run_id`),rx=y("evidence.doubt-later",`
update ghouls.end_acts e
set due_at = ghouls.clock() + interval '1 hour'
where e.tenant_id = $1 and e.run_id = $2 and e.act = 'doubt'
returning e.run_id`),ox=y("evidence.believe",`
with taken as (
  delete from ghouls.end_acts e
  where e.tenant_id = $1 and e.run_id = $2 and e.act = 'doubt'
  returning e.tenant_id, e.run_id, e.ended_at
)
insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
select taken.tenant_id, taken.run_id, 'seal', taken.ended_at, ghouls.clock()
from taken
on conflict (tenant_id, run_id, act) do nothing
returning run_id`),sx=y("evidence.faults-gone",`
update ghouls.integrity_faults fault
set gone_at = ghouls.clock()
from unnest($1::text[], $2::text[], $3::text[]) as q(tenant_id, check_name, subject)
where fault.check_name = q.check_name and coalesce(fault.tenant_id, '') = q.tenant_id and fault.subject = q.subject
  and fault.gone_at is null
returning fault.fault_id`);async function br(t,e){return e.length===0?[]:(await t.run(ex,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).map(ix)}s(br,"judgeRecords");function ix(t){let e=g(t),[n,r]=[e.boolean("ended"),e.boolean("missing")];return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),missing:r,digest:e.textOrNull("record_digest"),ended:n,fault:ax(n,r,t.intact===!0,t.agrees===!0)}}s(ix,"judgedOf");function ax(t,e,n,r){return t?e?"its terminal record is missing":n?r?null:"its terminal record says other things than its rows":"its terminal record was altered: its text disagrees with its digest":"its run is not there, or has not ended"}s(ax,"faultOf");async function Eo(t,e,n,r,o=xt){return t.transaction("evidence.note",async i=>(await O(i,[e]),pl(i,e,n,r,o)))}s(Eo,"noteBadRecord");async function pl(t,e,n,r,o){let i={check:o,...e,subject:e.runId,detail:n,foundBy:r};return await $t(t,[i])===0?!1:((await t.run(tx,[e.tenantId,e.runId,`evidence: ${n}`,o])).length===1&&await le(t,e,{pass:"seals",rule:"evidence disagrees: quarantine",before:n,after:"quarantined"}),!0)}s(pl,"note");async function gl(t,e,n){return t.transaction("evidence.settle-doubt",async r=>{await O(r,[e]);let[o]=await br(r,[e]),i=o?.fault??null;if(i===null)return await En(r,xt,[{tenantId:e.tenantId,subject:e.runId}]),await r.run(ox,[e.tenantId,e.runId]),{kind:"agrees",isNew:!1,detail:null};let a=await pl(r,e,i,n,xt);return await r.run(nx,[e.tenantId,e.runId]),await r.run(rx,[e.tenantId,e.runId]),{kind:"in doubt",isNew:a,detail:i}})}s(gl,"settleDoubt");async function En(t,e,n){return n.length===0?0:(await t.run(sx,[n.map(({tenantId:o})=>o),n.map(()=>e),n.map(({subject:o})=>o)])).length}s(En,"faultsGone");var ux=100,lx=1e4,cx=_("evidence.sizes",`
select coalesce(run.journal_length + run.enqueue_seq, 0) as size
from unnest($1::text[], $2::uuid[]) with ordinality as x(tenant_id, run_id, place)
left join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
order by x.place`);async function Yi(t,e){if(e.length===0)return[];let n=await t.run(cx,[e.map(i=>i.tenantId),e.map(i=>i.runId)]),r=[],o=0;for(let[i,a]of e.entries()){let d=g(n[i]??{}).number("size"),u=r.at(-1);u===void 0||u.length>=ux||d>o?(r.push([a]),o=lx-d):(u.push(a),o-=d)}return r}s(Yi,"sliceRecords");async function vo(t,e){let n=[];for(let r of await Yi(t,e))n.push(...await br(t,r));return n}s(vo,"judgeAllRecords");var vn="seals are an unbroken chain",hl=[xt,wr,vn],fx=10,px=86400,gx=_("seals.after",`
select s.tenant_id, s.number
from ghouls.seals s
where (s.tenant_id, s.number) > ($1, $2::integer)
order by s.tenant_id, s.number
limit 1`),hx=_("seals.verify",`
select s.records, s.digest = ghouls.seal_digest(s.tenant_id, s.number, s.previous_digest, s.members_text) as intact,
  s.number = 1 or s.previous_digest = before.digest as chained, (
    select count(*) from ghouls.seal_members(s.members_text))::integer as members
from ghouls.seals s
left join ghouls.seals before on before.tenant_id = s.tenant_id and before.number = s.number - 1
where s.tenant_id = $1 and s.number = $2::integer`),_x=_("seals.members",`
select m.run_id, m.record_digest
from ghouls.seals s
cross join lateral ghouls.seal_members(s.members_text) as m
where s.tenant_id = $1 and s.number = $2::integer
order by m.place`),yx=_("seals.check-position","select c.tenant_id, c.number from ghouls.seal_checks c where c.name = 'rolling' and c.next_at <= ghouls.clock()"),wx=y("seals.checked",`
update ghouls.seal_checks c
set tenant_id = $3, number = $4::integer, next_at = ghouls.clock() + coalesce($5::double precision, 0) * interval '1 second'
where c.name = 'rolling' and c.tenant_id is not distinct from $1 and c.number is not distinct from $2::integer
returning c.name`);async function kr(t,e){let[n]=await t.run(gx,[e?.tenantId??"",e?.number??0]);return n===void 0?null:{tenantId:g(n).text("tenant_id"),number:g(n).number("number")}}s(kr,"readSealAfter");async function Io(t,e){let{tenantId:n,number:r}=e,[o]=await t.run(hx,[n,r]);if(o===void 0)return null;let i=g(o),a=i.number("records"),d=(await t.run(_x,[n,r])).map(m=>g(m)),u=new Map(d.map(m=>[m.text("run_id"),m.text("record_digest")])),c=(await vo(t,[...u.keys()].map(m=>({tenantId:n,runId:m})))).map(m=>{let p=m.fault===null&&m.digest!==u.get(m.runId)?"its terminal record was rewritten after it had been sealed":m.fault;return{...m,fault:p===null?null:`${p} (seal ${r})`}});return{...e,records:a,members:c,fault:bx(r,a,o,i.number("members"))}}s(Io,"verifySeal");function bx(t,e,{intact:n,chained:r},o){return n!==!0?`seal ${t} was altered: it disagrees with its digest`:r!==!0?`seal ${t} does not follow seal ${t-1}, which was altered or removed`:o===e?null:`seal ${t} has ${o} records, not ${e}`}s(bx,"faultOf");async function _l(t){let[e]=await t.run(yx,[]);if(e===void 0)return;let n=g(e),r=n.textOrNull("tenant_id");return r===null?null:{tenantId:r,number:n.number("number")}}s(_l,"readCheckPosition");async function yl(t,e,n){let r=n===null?px:fx,o=s(i=>[i?.tenantId??null,i?.number??null],"at");return(await t.run(wx,[...o(e),...o(n),r])).length===1}s(yl,"moveCheck");var xr=500,kx=_("seals.due",`
with recursive tenants as (
  (select e.tenant_id from ghouls.end_acts e where e.act = 'seal' order by e.tenant_id limit 1)
  union all
  select (
    select e.tenant_id from ghouls.end_acts e where e.act = 'seal' and e.tenant_id > before.tenant_id order by e.tenant_id limit 1)
  from tenants before
  where before.tenant_id is not null
), due as (
  select tenants.tenant_id, null::uuid as run_id, 'seal' as kind, 'seal ' || tenants.tenant_id as owner, earliest.due_at
  from tenants
  cross join lateral (
    select e.due_at
    from ghouls.end_acts e
    where e.tenant_id = tenants.tenant_id and e.act = 'seal'
    order by e.due_at
    limit 1) as earliest
  union all
  select e.tenant_id, e.run_id, 'doubt', 'doubt ' || e.run_id::text, e.due_at
  from ghouls.end_acts e
  where e.act = 'doubt' and e.due_at <= ghouls.clock()
  union all
  select coalesce(c.tenant_id, ''), null, 'check', 'check', c.next_at
  from ghouls.seal_checks c
  where exists (select from ghouls.seals)
)
select due.tenant_id, due.run_id, due.kind, due.owner, ${K("due.due_at")}
from due
where ${Vt("due.due_at","due.owner")} and ($5::text[] is null or due.owner = any($5))
order by due.due_at, due.owner collate "C"
limit $1`),xx=_("seals.due-runs",`
select e.run_id
from ghouls.end_acts e
where e.tenant_id = $1 and e.act = 'seal' and e.due_at <= ghouls.clock()
order by e.due_at, e.run_id
limit $2`),Ex=_("seals.take",`
select e.run_id
from ghouls.end_acts e
where e.tenant_id = $1 and e.act = 'seal' and e.run_id = any($2::uuid[])
order by e.run_id
for update`),vx=y("seals.make",`
with last as materialized (
  select s.number, s.digest
  from ghouls.seals s
  where s.tenant_id = $1
  order by s.number desc
  limit 1
), member as materialized (
  select e.tenant_id, e.run_id, record.record_digest, row_number() over (order by e.ended_at, e.run_id) as place
  from ghouls.end_acts e
  join ghouls.terminal_records record on record.tenant_id = e.tenant_id and record.run_id = e.run_id
  where e.tenant_id = $1 and e.act = 'seal' and e.run_id = any($2::uuid[])
), lines as materialized (
  select count(*)::integer as records, string_agg(concat_ws(' ', m.place, m.run_id, m.record_digest), chr(10) order by m.place) as members
  from member m
), made as (
  insert into ghouls.seals (tenant_id, number, previous_digest, records, members_text, digest, sealed_at)
  select $1, coalesce(last.number, 0) + 1, last.digest, lines.records, lines.members,
    ghouls.seal_digest($1, coalesce(last.number, 0) + 1, last.digest, lines.members), ghouls.clock()
  from lines
  left join last on true
  where lines.records > 0
  on conflict (tenant_id, number) do nothing
  returning tenant_id, number, records, digest
), done as (
  delete from ghouls.end_acts e
  using member m, made
  where e.tenant_id = made.tenant_id and e.tenant_id = m.tenant_id and e.run_id = m.run_id and e.act = 'seal'
  returning e.run_id
)
select made.number, made.records, made.digest
from made
where (select count(*) from done) >= 0`);async function wl(t,e){let n=await t.run(kx,[...kn(e),e.owners??null]);return xn(n,e.limit,r=>{let o=g(r);return{kind:o.text("kind"),tenantId:o.text("tenant_id"),runId:o.textOrNull("run_id"),owner:o.text("owner")}})}s(wl,"readDueSeals");async function bl(t,e){return(await t.run(xx,[e,xr])).map(r=>g(r).text("run_id"))}s(bl,"readRunsToSeal");async function kl(t,e,n){return t.transaction("seals.make",async r=>{let o=await r.run(Ex,[e,n]);if(o.length===0)return null;let[i]=await r.run(vx,[e,o.map(d=>g(d).text("run_id"))]);if(i===void 0)return null;let a=g(i);return{tenantId:e,number:a.number("number"),records:a.number("records"),digest:a.text("digest")}})}s(kl,"sealRecords");var xl={number:1,name:"runs",sql:`
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
`};var El={number:2,name:"containment",sql:`
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
`};var vl={number:3,name:"doctor",sql:`
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
`};var Il={number:4,name:"holds",sql:`
create index deliveries_by_hold on ghouls.deliveries (hold_expires_at) where status = 'HELD';
`};var Sl={number:5,name:"overlap",sql:`
alter table ghouls.runs add column workflow_absent_since timestamptz;
comment on column ghouls.runs.workflow_absent_since is
  'The first give-back in a row by a build without the workflow of this run; null once a hop has started.';
`};var Al={number:6,name:"keys",sql:`
create table ghouls.api_keys (
  tenant_id text not null check (tenant_id <> ''),
  key_id text not null check (key_id <> ''),
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  subject text not null check (subject <> ''),
  roles text[] not null,
  permissions text[] not null,
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, key_id),
  constraint api_keys_key_id_key unique (key_id),
  constraint api_keys_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.api_keys is
  'A row stays when its key has ended, and tells who made and who revoked it. The application only reads it and says when a key was used.';
comment on column ghouls.api_keys.digest is 'SHA-256 of the text of the key, which is nowhere else.';
comment on column ghouls.api_keys.last_used_at is 'To the hour: not written at every request.';
`};var Rl={number:7,name:"waits",sql:`
alter table ghouls.runs
  add column epoch integer not null default 0 check (epoch >= 0),
  add column journal_start integer not null default 0 check (journal_start >= 0);
comment on column ghouls.runs.epoch is 'How often the run has continued as new.';
comment on column ghouls.runs.journal_start is 'The journal of this epoch begins behind this ordinal.';
create index runs_by_deadline on ghouls.runs (deadline_at, run_id)
  where deadline_at is not null and status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER');

create table ghouls.waits (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_by uuid,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);
create unique index waits_one_open on ghouls.waits (tenant_id, run_id) where closed_at is null;

create table ghouls.arms (
  tenant_id text not null,
  run_id uuid not null,
  arm_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  owner text not null check (owner in ('consent', 'signal', 'timer')),
  generation integer not null,
  seq integer not null,
  due_at timestamptz,
  tries integer check (tries >= 1),
  created_at timestamptz not null,
  closed_at timestamptz,
  closing text check (closing in ('fact', 'step', 'restart', 'ended')),
  primary key (tenant_id, run_id, arm_id),
  constraint arms_arm_id_key unique (arm_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint arms_closed check (num_nulls(closed_at, closing) <> 1),
  constraint arms_timer check (owner <> 'timer' or due_at is not null),
  constraint arms_retry check ((kind = 'step') = (tries is not null))
);
comment on column ghouls.arms.generation is 'Of the wait that holds it, or that held it last.';
comment on column ghouls.arms.due_at is 'When its time is over; null where it has none.';
create unique index arms_one_open on ghouls.arms (tenant_id, run_id, epoch, scope, kind, name, nth)
  where closed_at is null;
create index arms_due on ghouls.arms (due_at, run_id) where closed_at is null and due_at is not null;

create table ghouls.consents (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  arm_id uuid not null,
  status text not null check (status in ('PENDING', 'GRANTED', 'DENIED', 'EXPIRED', 'CANCELLED')),
  title text not null,
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  deciders text[] not null check (cardinality(deciders) >= 1),
  quorum integer not null check (quorum >= 1),
  requester_may_decide boolean not null,
  on_expiry text not null check (on_expiry in ('expire', 'grant', 'deny')),
  source text,
  next_look_at timestamptz,
  looks integer not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, consent_id),
  constraint consents_consent_id_key unique (consent_id),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint consents_closed check ((status = 'PENDING') = (closed_at is null) and num_nulls(closed_at, closed_by) <> 1),
  constraint consents_source check (source is null or status <> 'PENDING' or next_look_at is not null)
);
create unique index consents_of_arm on ghouls.consents (tenant_id, run_id, arm_id);
create index consents_newest on ghouls.consents (tenant_id, created_at desc, consent_id desc);
create index consents_pending on ghouls.consents (tenant_id, created_at desc, consent_id desc) where status = 'PENDING';
create index consents_to_look_up on ghouls.consents (next_look_at, run_id)
  where status = 'PENDING' and source is not null;

create table ghouls.consent_decisions (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  subject text not null,
  verdict text not null check (verdict in ('grant', 'deny')),
  comment_text text,
  comment_digest text,
  decided_at timestamptz not null,
  primary key (tenant_id, run_id, consent_id, subject),
  foreign key (tenant_id, run_id, consent_id) references ghouls.consents (tenant_id, run_id, consent_id),
  constraint consent_decisions_comment check (comment_text is null or comment_digest is not null)
);

create table ghouls.signals (
  tenant_id text not null,
  run_id uuid not null,
  signal_id uuid not null,
  name text not null,
  idempotency_key text,
  request_digest text not null,
  payload_text text,
  payload_digest text,
  sent_by text not null,
  received_at timestamptz not null,
  consumed_at timestamptz,
  consumed_by uuid,
  primary key (tenant_id, run_id, signal_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint signals_idempotency_key unique (tenant_id, run_id, idempotency_key),
  constraint signals_consumed check (num_nulls(consumed_at, consumed_by) <> 1),
  constraint signals_payload check (payload_text is null or payload_digest is not null)
);
create index signals_buffered on ghouls.signals (tenant_id, run_id, name, received_at, signal_id)
  where consumed_at is null;

create function ghouls.close_waits() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.consents set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run'
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'PENDING';
  update ghouls.arms set closed_at = ghouls.clock(), closing = 'ended'
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  update ghouls.waits set closed_at = ghouls.clock()
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  return null;
end
$function$;
create trigger close_waits after update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_waits as
select run.tenant_id, run.run_id, run.status, run.generation,
  (select count(*) from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
    and w.generation = run.generation and w.closed_at is null) as waits,
  (select count(*) from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
    and a.generation = run.generation and a.closed_at is null) as arms,
  (select count(*) from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
    and c.generation = run.generation) as checkpoints
from ghouls.runs run
where run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not (
    exists (select from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
      and w.generation = run.generation and w.closed_at is null)
    and exists (select from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
      and a.generation = run.generation and a.closed_at is null)
    and exists (select from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
      and c.generation = run.generation));

create view ghouls.doctor_ended_waits as
select run.tenant_id, run.run_id, run.status, w.generation, null::uuid as arm_id, null::uuid as consent_id
from ghouls.waits w
join ghouls.runs run on run.tenant_id = w.tenant_id and run.run_id = w.run_id
where w.closed_at is null
  and run.status not in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select run.tenant_id, run.run_id, run.status, a.generation, a.arm_id, null
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null
  and run.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
union all
select a.tenant_id, a.run_id, null, a.generation, a.arm_id, c.consent_id
from ghouls.consents c
join ghouls.arms a on a.tenant_id = c.tenant_id and a.run_id = c.run_id and a.arm_id = c.arm_id
where c.status = 'PENDING' and a.closed_at is not null;
`};var $l={number:8,name:"starts",sql:`
alter table ghouls.runs add column starts_at timestamptz;
comment on column ghouls.runs.starts_at is
  'What now() of its code begins with: the start that it was given, its release from hold, or its last restart; null: its admission.';
`};var Ol={number:9,name:"attempts",sql:`
alter table ghouls.arms drop constraint arms_owner_check;
alter table ghouls.arms add constraint arms_owner_check check (owner in ('consent', 'delegate', 'signal', 'timer'));
alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt'));

create table ghouls.attempts (
  tenant_id text not null,
  run_id uuid not null,
  attempt_id uuid not null,
  arm_id uuid not null,
  call_key text not null,
  status text not null check (status in ('DEFINED', 'SUBMITTING', 'SUBMITTED', 'RUNNING', 'UNCERTAIN', 'SUCCEEDED',
    'FAILED', 'CANCELLED')),
  service text not null,
  adapter text not null,
  adapter_version text not null,
  service_digest text not null,
  lookup text not null check (lookup in ('authoritative', 'advisory', 'none')),
  submit text not null check (submit in ('idempotent', 'once')),
  cancel text not null check (cancel in ('final', 'advisory', 'none')),
  delay_seconds double precision not null check (delay_seconds >= 0),
  poll_seconds double precision check (poll_seconds > 0),
  heartbeat_seconds double precision check (heartbeat_seconds > 0),
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  idempotency_key text not null,
  token uuid,
  submitter text,
  sends_until timestamptz,
  submissions integer not null default 0 check (submissions >= 0),
  acknowledged_at timestamptz,
  callback_digest text,
  callback_expires_at timestamptz,
  callback_used_at timestamptz,
  heartbeat_at timestamptz,
  deadline_at timestamptz,
  cancel_asked_at timestamptz,
  cancel_reason text check (cancel_reason in ('deadline', 'ended', 'restart')),
  next_look_at timestamptz,
  looks integer not null default 0 check (looks >= 0),
  misses integer not null default 0 check (misses >= 0),
  uncertain_reason text,
  unsent boolean not null default false,
  trouble text,
  trouble_at timestamptz,
  report_text text,
  report_digest text,
  contradiction text,
  created_at timestamptz not null,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, attempt_id),
  constraint attempts_attempt_id_key unique (attempt_id),
  constraint attempts_idempotency_key unique (tenant_id, idempotency_key),
  constraint attempts_of_call unique (tenant_id, run_id, call_key),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint attempts_closed check (
    (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (closed_at is not null)
    and num_nulls(closed_at, closed_by) <> 1),
  constraint attempts_sent check (
    (submissions > 0) = (token is not null) and num_nulls(token, sends_until, submitter) in (0, 3)
    and (status in ('DEFINED', 'CANCELLED') or token is not null) and (status <> 'DEFINED' or token is null)),
  constraint attempts_looked_at check (
    (status in ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (next_look_at is null)),
  constraint attempts_report check (
    (status in ('SUCCEEDED', 'FAILED')) = (report_digest is not null)
    and (report_text is null or report_digest is not null)),
  constraint attempts_uncertain check ((status = 'UNCERTAIN') = (uncertain_reason is not null)),
  constraint attempts_cancel check (num_nulls(cancel_asked_at, cancel_reason) <> 1),
  constraint attempts_trouble check (num_nulls(trouble, trouble_at) <> 1)
);
comment on table ghouls.attempts is 'ServiceJobAttempt: one delegated job at another service.';
comment on column ghouls.attempts.sends_until is
  'The latest moment at which whoever holds the token, or held it last, can still send.';
comment on column ghouls.attempts.service_digest is 'Of what identifies its service: the executor that was meant.';
comment on column ghouls.attempts.unsent is
  'Whoever holds the token says that nothing of its submission was sent.';
comment on column ghouls.attempts.trouble is 'Why the last question came to nothing.';
create unique index attempts_of_arm on ghouls.attempts (tenant_id, run_id, arm_id);
create index attempts_newest on ghouls.attempts (tenant_id, created_at desc, attempt_id desc);
create index attempts_due on ghouls.attempts (next_look_at, run_id)
  where status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
create index attempts_by_submitter on ghouls.attempts (submitter) where status = 'SUBMITTING';

create function ghouls.contain_attempts() returns trigger
  language plpgsql
  as $function$
declare
  acting integer;
begin
  update ghouls.attempts set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run',
      next_look_at = null
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'DEFINED';
  update ghouls.attempts set next_look_at = ghouls.clock(), looks = 0,
      cancel_asked_at = coalesce(cancel_asked_at, ghouls.clock()), cancel_reason = coalesce(cancel_reason, 'ended')
    where tenant_id = new.tenant_id and run_id = new.run_id and status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select a.tenant_id, a.run_id, 'attempt', a.call_key, arm.seq, a.token, 'service ' || a.service, ghouls.clock(),
      ghouls.clock()
    from ghouls.attempts a
    join ghouls.arms arm on arm.tenant_id = a.tenant_id and arm.run_id = a.run_id and arm.arm_id = a.arm_id
    where a.tenant_id = new.tenant_id and a.run_id = new.run_id
      and a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED');
  get diagnostics acting = row_count;
  if acting > 0 then
    new.open_items := new.open_items + acting;
    if new.status in ('DONE', 'FAILED') then
      new.status := case new.status when 'DONE' then 'COMPLETING' else 'FAILING' end;
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_attempts before update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_attempts();

create view ghouls.doctor_attempts as
select run.tenant_id, run.run_id, run.status, a.attempt_id, a.status as attempt_status
from ghouls.attempts a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED')
  and (run.status in ('DONE', 'FAILED', 'CANCELLED')
    or (run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.kind = 'attempt' and i.key = a.call_key
        and i.acknowledged_at is null)))
union all
select run.tenant_id, run.run_id, run.status, a.attempt_id, a.status
from ghouls.attempts a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
join ghouls.arms arm on arm.tenant_id = a.tenant_id and arm.run_id = a.run_id and arm.arm_id = a.arm_id
where a.status in ('SUCCEEDED', 'FAILED', 'CANCELLED') and arm.closed_at is null and run.quarantined_at is null
  and run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select i.tenant_id, i.run_id, null, null, i.key
from ghouls.containment_items i
where i.kind = 'attempt' and i.acknowledged_at is null and not exists (
  select from ghouls.attempts a
  where a.tenant_id = i.tenant_id and a.run_id = i.run_id and a.call_key = i.key
    and a.status not in ('SUCCEEDED', 'FAILED', 'CANCELLED'));

create view ghouls.doctor_contradicted_attempts as
select a.tenant_id, a.run_id, a.attempt_id, a.status, a.contradiction
from ghouls.attempts a
where a.contradiction is not null;
`};var Cl={number:10,name:"children",sql:`
alter table ghouls.arms drop constraint arms_owner_check;
alter table ghouls.arms add constraint arms_owner_check
  check (owner in ('consent', 'delegate', 'child', 'signal', 'timer'));
alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt', 'child'));

alter table ghouls.runs
  add column parent_run_id uuid,
  add column parent_arm_id uuid,
  add column parent_close text check (parent_close in ('cancel', 'wait', 'abandon')),
  add column children integer not null default 0 check (children >= 0),
  add constraint runs_parent check (num_nulls(parent_run_id, parent_arm_id, parent_close) in (0, 3));
comment on column ghouls.runs.parent_arm_id is 'The arm on which its parent waits for it.';
comment on column ghouls.runs.parent_close is 'What becomes of it when its parent ends.';
comment on column ghouls.runs.children is 'How many runs it has started.';
create unique index runs_of_arm on ghouls.runs (tenant_id, parent_run_id, parent_arm_id)
  where parent_run_id is not null;

create table ghouls.child_ends (
  tenant_id text not null,
  run_id uuid not null,
  parent_run_id uuid not null,
  ended_at timestamptz not null,
  primary key (tenant_id, run_id)
);
comment on table ghouls.child_ends is
  'Children that have ended, until their parents know. Written under the lock of the child alone, so it has no reference to either.';
create index child_ends_due on ghouls.child_ends (ended_at, run_id);

create function ghouls.tell_parent() returns trigger
  language plpgsql
  as $function$
begin
  insert into ghouls.child_ends (tenant_id, run_id, parent_run_id, ended_at)
    values (new.tenant_id, new.run_id, new.parent_run_id, new.finished_at)
    on conflict (tenant_id, run_id) do nothing;
  return null;
end
$function$;
create trigger tell_parent after update of status on ghouls.runs
  for each row when (new.parent_run_id is not null
    and new.status in ('DONE', 'FAILED', 'CANCELLED') and old.status not in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.tell_parent();

create function ghouls.contain_children() returns trigger
  language plpgsql
  as $function$
declare
  acting integer;
begin
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select child.tenant_id, child.parent_run_id, 'child', child.run_id::text, arm.seq, child.run_id,
      'run ' || child.run_id, ghouls.clock(), ghouls.clock()
    from ghouls.runs child
    join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id
      and arm.arm_id = child.parent_arm_id
    where child.tenant_id = new.tenant_id and child.parent_run_id = new.run_id and child.parent_close <> 'abandon'
      and child.status not in ('DONE', 'FAILED', 'CANCELLED')
    on conflict (tenant_id, run_id, kind, key) do nothing;
  get diagnostics acting = row_count;
  if acting > 0 then
    new.open_items := new.open_items + acting;
    if new.status in ('DONE', 'FAILED') then
      new.status := case new.status when 'DONE' then 'COMPLETING' else 'FAILING' end;
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_children before update of status on ghouls.runs
  for each row when (new.children > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_children();

drop trigger close_waits on ghouls.runs;
create trigger close_waits after update of status on ghouls.runs
  for each row when ((new.generation > 0 or new.children > 0)
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_children as
select parent.tenant_id, parent.run_id, parent.status, child.run_id as child_run_id, child.status as child_status
from ghouls.runs child
join ghouls.runs parent on parent.tenant_id = child.tenant_id and parent.run_id = child.parent_run_id
where child.parent_close <> 'abandon' and child.status not in ('DONE', 'FAILED', 'CANCELLED')
  and parent.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
  and not exists (
    select from ghouls.containment_items i
    where i.tenant_id = child.tenant_id and i.run_id = parent.run_id and i.kind = 'child' and i.key = child.run_id::text
      and i.acknowledged_at is null)
union all
select parent.tenant_id, parent.run_id, parent.status, child.run_id, child.status
from ghouls.runs child
join ghouls.runs parent on parent.tenant_id = child.tenant_id and parent.run_id = child.parent_run_id
join ghouls.arms arm on arm.tenant_id = child.tenant_id and arm.run_id = child.parent_run_id
  and arm.arm_id = child.parent_arm_id
where child.status in ('DONE', 'FAILED', 'CANCELLED') and arm.closed_at is null and parent.quarantined_at is null
  and parent.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not exists (
    select from ghouls.child_ends e where e.tenant_id = child.tenant_id and e.run_id = child.run_id)
union all
select arm.tenant_id, arm.run_id, null, null, 'arm ' || arm.arm_id
from ghouls.arms arm
where arm.owner = 'child' and arm.closed_at is null and not exists (
  select from ghouls.runs child
  where child.tenant_id = arm.tenant_id and child.parent_run_id = arm.run_id and child.parent_arm_id = arm.arm_id);
`};var Dl={number:11,name:"grants",sql:`
create table ghouls.grants (
  tenant_id text not null check (tenant_id <> ''),
  grant_id text not null check (grant_id <> ''),
  name text not null check (name <> ''),
  holder text not null check (holder ~ '^(user|role):.'),
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, grant_id),
  constraint grants_grant_id_key unique (grant_id),
  constraint grants_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.grants is
  'A row stays when its grant has ended, and tells who made and who revoked it. The application only reads it.';
comment on column ghouls.grants.holder is
  'Of whose runs: "user:<subject>" or "role:<name>", as the admission has recorded them.';
create index grants_live on ghouls.grants (tenant_id, name, holder) where revoked_at is null;
create index api_keys_by_subject on ghouls.api_keys (tenant_id, subject) where revoked_at is null;
`};var Pl={number:12,name:"reservations",sql:`
create table ghouls.capacities (
  name text primary key check (name <> ''),
  units integer not null check (units >= 1),
  updated_at timestamptz not null
);
comment on table ghouls.capacities is
  'What runs may reserve units of, as a configuration said last. Belongs to the deployment, so it has no tenant.';
comment on column ghouls.capacities.updated_at is 'When its units changed last: what was granted before may be more.';

alter table ghouls.runs
  add column reservations integer not null default 0 check (reservations >= 0),
  add column holder_key uuid
    generated always as (case when status in ('RUNNING', 'AWAITING_HARDWARE') then run_id end) stored,
  add constraint runs_holder_key unique (tenant_id, holder_key);
comment on column ghouls.runs.reservations is 'How often it has asked for units.';
comment on column ghouls.runs.holder_key is 'Its id while a worker carries it: only then it may hold units, or wait for them.';

create table ghouls.reservations (
  tenant_id text not null,
  run_id uuid not null,
  reservation_id uuid not null,
  epoch integer not null,
  scope text not null,
  name text not null,
  nth integer not null,
  capacity text not null references ghouls.capacities (name),
  units integer not null check (units >= 1),
  seq integer not null,
  token uuid not null,
  holder uuid,
  status text not null check (status in ('WAITING', 'HELD', 'LEFT', 'RELEASED')),
  asked_at timestamptz not null,
  held_at timestamptz,
  left_at timestamptz,
  released_at timestamptz,
  primary key (tenant_id, run_id, reservation_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  foreign key (tenant_id, holder) references ghouls.runs (tenant_id, holder_key),
  constraint reservations_holder check (
    (status in ('WAITING', 'HELD')) = (holder is not null) and (holder is null or holder = run_id)),
  constraint reservations_held check (
    (status <> 'WAITING' or held_at is null) and (status not in ('HELD', 'LEFT') or held_at is not null)),
  constraint reservations_left check ((status <> 'LEFT' or left_at is not null)),
  constraint reservations_released check ((status = 'RELEASED') = (released_at is not null))
);
comment on table ghouls.reservations is
  'Units that a claim holds, waits for, or has left: those are in use while the item of its worker is open.';
comment on column ghouls.reservations.asked_at is 'The first ask in a row of its call, over all hops: its place among those that wait.';
create unique index reservations_one_open on ghouls.reservations (tenant_id, run_id, epoch, scope, name, nth)
  where status in ('WAITING', 'HELD');
create index reservations_of_holder on ghouls.reservations (tenant_id, holder) where holder is not null;
create index reservations_in_use on ghouls.reservations (capacity, asked_at, reservation_id) where status <> 'RELEASED';

create function ghouls.leave_reservations() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.reservations
    set status = case status when 'HELD' then 'LEFT' else 'RELEASED' end, holder = null,
      left_at = case status when 'HELD' then ghouls.clock() end,
      released_at = case status when 'WAITING' then ghouls.clock() end
    where tenant_id = new.tenant_id and holder = new.run_id;
  return new;
end
$function$;
create trigger leave_reservations before update of status on ghouls.runs
  for each row when (new.reservations > 0 and old.status in ('RUNNING', 'AWAITING_HARDWARE')
    and new.status in ('QUEUED', 'COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.leave_reservations();

create view ghouls.units_in_use as
select x.capacity, x.units, x.tenant_id, x.run_id, x.scope, x.name, x.nth, x.seq, x.status, x.held_at as since,
  item.over_at
from ghouls.reservations x
left join ghouls.containment_items item on x.status = 'LEFT' and item.tenant_id = x.tenant_id and item.run_id = x.run_id
  and item.kind = 'worker' and item.key = x.seq::text and item.acknowledged_at is null
where x.status = 'HELD' or item.run_id is not null;
comment on view ghouls.units_in_use is
  'Who holds units, and whose are still in use though their claim is lost: over_at is when nothing of it can act any more.';

create view ghouls.doctor_reservations as
select u.tenant_id, u.run_id, null as status, u.capacity, 'of ' || c.units || ' units more are in use' as problem
from ghouls.units_in_use u
join ghouls.capacities c on c.name = u.capacity
where (select sum(o.units) from ghouls.units_in_use o where o.capacity = u.capacity) > c.units
  and exists (select from ghouls.units_in_use o where o.capacity = u.capacity and o.since > c.updated_at)
union all
select x.tenant_id, x.run_id, run.status, x.capacity, lower(x.status) || ' under a claim that is gone'
from ghouls.reservations x
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
join ghouls.deliveries d on d.tenant_id = x.tenant_id and d.run_id = x.run_id and d.seq = x.seq
where x.status in ('WAITING', 'HELD') and (d.status <> 'CLAIMED' or d.token is distinct from x.token)
union all
select run.tenant_id, run.run_id, run.status, null, 'its status and what it waits for disagree'
from ghouls.runs run
where run.reservations > 0 and run.status in ('RUNNING', 'AWAITING_HARDWARE')
  and (run.status = 'AWAITING_HARDWARE') <> exists (
    select from ghouls.reservations x
    where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING');
`};var Nl={number:13,name:"places",sql:`
-- As engines lock them: who carries a run waits for no lock that is taken the other way round.
lock table ghouls.runs, ghouls.capacities, ghouls.reservations in access exclusive mode;

alter table ghouls.reservations
  add column inside integer not null default 0 check (inside >= 0),
  drop constraint reservations_status_check,
  add constraint reservations_status_check check (status in ('WAITING', 'AWAY', 'HELD', 'LEFT', 'RELEASED')),
  drop constraint reservations_held,
  add constraint reservations_held check (
    (status not in ('WAITING', 'AWAY') or held_at is null) and (status not in ('HELD', 'LEFT') or held_at is not null)),
  drop constraint reservations_left,
  add constraint reservations_left check (status not in ('LEFT', 'AWAY') or left_at is not null);
comment on column ghouls.reservations.inside is
  'Units of the same capacity that are held around it: it can never be had where both come to more than there is.';
comment on column ghouls.reservations.left_at is
  'When its claim was lost or given up: a place is kept for a while after it, units until nothing of the claim can act.';
comment on column ghouls.capacities.units is
  'As a deploy said last (its preflight, or the host of one machine); a process adds only what is not here.';

alter table ghouls.capacities add column said_at timestamptz;
comment on column ghouls.capacities.said_at is 'When a deploy has said how many there are; null where only a process has.';
create function ghouls.keep_capacity() returns trigger
  language plpgsql
  as $function$
begin
  new.units := old.units;
  new.updated_at := old.updated_at;
  return new;
end
$function$;
comment on function ghouls.keep_capacity() is 'A process of before that starts late does not overrule a deploy.';
create trigger keep_capacity before update on ghouls.capacities
  for each row when (old.said_at is not null and new.said_at is not distinct from old.said_at)
  execute function ghouls.keep_capacity();

create or replace function ghouls.leave_reservations() returns trigger
  language plpgsql
  as $function$
begin
  if new.status = 'QUEUED' then
    update ghouls.reservations
      set status = case status when 'HELD' then 'LEFT' else 'AWAY' end, holder = null, left_at = ghouls.clock()
      where tenant_id = new.tenant_id and holder = new.run_id;
    -- A run that goes on as new asks for nothing of before.
    if new.epoch = old.epoch then
      return new;
    end if;
  end if;
  if new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED') then
    update ghouls.reservations
      set status = case status when 'HELD' then 'LEFT' else 'RELEASED' end, holder = null,
        left_at = case status when 'HELD' then ghouls.clock() end,
        released_at = case status when 'WAITING' then ghouls.clock() end
      where tenant_id = new.tenant_id and holder = new.run_id;
  end if;
  update ghouls.reservations
    set status = 'RELEASED', released_at = ghouls.clock()
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'AWAY';
  return new;
end
$function$;
drop trigger leave_reservations on ghouls.runs;
create trigger leave_reservations before update of status on ghouls.runs
  for each row when (new.reservations > 0 and new.status <> old.status and new.status not in ('RUNNING', 'AWAITING_HARDWARE'))
  execute function ghouls.leave_reservations();

create or replace view ghouls.doctor_reservations as
select u.tenant_id, u.run_id, null as status, u.capacity, 'of ' || c.units || ' units more are in use' as problem
from ghouls.units_in_use u
join ghouls.capacities c on c.name = u.capacity
where (select sum(o.units) from ghouls.units_in_use o where o.capacity = u.capacity) > c.units
  and exists (select from ghouls.units_in_use o where o.capacity = u.capacity and o.since > c.updated_at)
union all
select x.tenant_id, x.run_id, run.status, x.capacity, lower(x.status) || ' under a claim that is gone'
from ghouls.reservations x
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
join ghouls.deliveries d on d.tenant_id = x.tenant_id and d.run_id = x.run_id and d.seq = x.seq
where x.status in ('WAITING', 'HELD') and (d.status <> 'CLAIMED' or d.token is distinct from x.token)
union all
select x.tenant_id, x.run_id, run.status, x.capacity, 'its place is kept, and it is not on its way'
from ghouls.reservations x
join ghouls.runs run on run.tenant_id = x.tenant_id and run.run_id = x.run_id
where x.status = 'AWAY' and run.status not in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE')
union all
select run.tenant_id, run.run_id, run.status, null, 'its status and what it waits for disagree'
from ghouls.runs run
where run.reservations > 0 and run.status in ('RUNNING', 'AWAITING_HARDWARE')
  and (run.status = 'AWAITING_HARDWARE') <> exists (
    select from ghouls.reservations x
    where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING');
`};var ql={number:14,name:"undo",sql:`
-- As engines lock them.
lock table ghouls.runs, ghouls.containment_items in access exclusive mode;

alter table ghouls.containment_items drop constraint containment_items_kind_check;
alter table ghouls.containment_items add constraint containment_items_kind_check
  check (kind in ('worker', 'effect', 'attempt', 'child', 'undo'));

alter table ghouls.runs
  add column undoable boolean not null default false,
  add column contain_from timestamptz;
comment on column ghouls.runs.contain_from is
  'When its containment came further, or an operator spoke about it: what was tried in vain before it does not count any more.';
comment on column ghouls.runs.undoable is 'Whether it has started a step that has an undo.';

create table ghouls.undos (
  tenant_id text not null,
  run_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  once boolean not null,
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  cleared_at timestamptz,
  primary key (tenant_id, run_id, epoch, scope, kind, name, nth),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);
comment on table ghouls.undos is 'Starts of steps that have an undo, committed before their calls.';
comment on column ghouls.undos.once is 'Whether it is an effect that happens once, whose intents tell more.';
comment on column ghouls.undos.started_at is 'Of its first try.';
comment on column ghouls.undos.cleared_at is 'When its own code had said of every try that it has not happened.';

create view ghouls.steps_to_undo as
select u.tenant_id, u.run_id, u.epoch, u.scope, u.kind, u.name, u.nth, u.seq, u.token, u.started_at,
  json_build_array(u.epoch, u.scope, u.kind, u.name, u.nth)::text as key
from ghouls.undos u
where u.cleared_at is null and (not u.once or exists (
  select from ghouls.intents i
  where i.tenant_id = u.tenant_id and i.run_id = u.run_id and i.epoch = u.epoch and i.scope = u.scope and i.kind = u.kind
    and i.name = u.name and i.nth = u.nth and (i.outcome is null or i.outcome not in ('not_done', 'cannot_happen'))));
comment on view ghouls.steps_to_undo is 'Steps with an undo that are not proven never to have happened.';

create function ghouls.contain_undos() returns trigger
  language plpgsql
  as $function$
declare
  started integer;
begin
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
    select u.tenant_id, u.run_id, 'undo', u.key, u.seq, u.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
    from ghouls.steps_to_undo u
    join ghouls.deliveries d on d.tenant_id = u.tenant_id and d.run_id = u.run_id and d.seq = u.seq
    where u.tenant_id = new.tenant_id and u.run_id = new.run_id
    on conflict (tenant_id, run_id, kind, key) do nothing;
  get diagnostics started = row_count;
  if started > 0 then
    new.open_items := new.open_items + started;
    if new.status = 'FAILED' then
      new.status := 'FAILING';
      new.finished_at := null;
    end if;
  end if;
  return new;
end
$function$;
create trigger contain_undos before update of status on ghouls.runs
  for each row when (new.undoable and new.status in ('FAILING', 'CANCELLING', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.contain_undos();

create view ghouls.doctor_undos as
select u.tenant_id, u.run_id, run.status, u.name, u.key
from ghouls.steps_to_undo u
join ghouls.runs run on run.tenant_id = u.tenant_id and run.run_id = u.run_id
where run.status in ('FAILING', 'CANCELLING', 'FAILED', 'CANCELLED') and not exists (
  select from ghouls.containment_items i
  where i.tenant_id = u.tenant_id and i.run_id = u.run_id and i.kind = 'undo' and i.key = u.key)
union all
select u.tenant_id, u.run_id, run.status, u.name, j.ordinal::text
from ghouls.undos u
join ghouls.runs run on run.tenant_id = u.tenant_id and run.run_id = u.run_id
join ghouls.journal j on j.tenant_id = u.tenant_id and j.run_id = u.run_id and j.epoch = u.epoch and j.scope = u.scope
  and j.kind = u.kind and j.name = u.name and j.nth = u.nth and j.outcome = 'ok'
where run.status in ('FAILING', 'CANCELLING', 'FAILED', 'CANCELLED') and not exists (
  select from ghouls.containment_items i
  where i.tenant_id = u.tenant_id and i.run_id = u.run_id and i.kind = 'undo'
    and i.key = json_build_array(u.epoch, u.scope, u.kind, u.name, u.nth)::text);
`};var Tl={number:15,name:"pauses",sql:`
alter table ghouls.runs
  add column paused_by text,
  add column pause_reason text,
  add constraint runs_pause check (num_nulls(paused_by, pause_reason) <> 1 and (paused_by is null or paused_at is not null));

create table ghouls.pauses (
  pause_id uuid not null,
  scope text not null,
  tenant_id text check (tenant_id <> ''),
  workflow text check (workflow <> ''),
  actor text not null check (actor <> ''),
  reason text not null,
  at timestamptz not null,
  lifted_at timestamptz,
  lifted_by text,
  lift_reason text,
  primary key (pause_id),
  constraint pauses_scope check (case scope
    when 'all' then tenant_id is null and workflow is null
    when 'tenant' then tenant_id is not null and workflow is null
    when 'workflow' then workflow is not null
    else false end),
  constraint pauses_lifted check (num_nulls(lifted_at, lifted_by, lift_reason) in (0, 3))
);
comment on table ghouls.pauses is
  'What no worker takes up, beside single runs. A row stays when it has been lifted, and tells who set and who lifted it.';
comment on column ghouls.pauses.tenant_id is 'Null: in every tenant, so it belongs to the deployment.';
comment on column ghouls.pauses.workflow is 'Null: every workflow.';
create unique index pauses_one_set on ghouls.pauses ((coalesce(tenant_id, '')), (coalesce(workflow, '')))
  where lifted_at is null;

create function ghouls.end_pause() returns trigger
  language plpgsql
  as $function$
begin
  new.paused_at := null;
  new.paused_by := null;
  new.pause_reason := null;
  return new;
end
$function$;
create trigger end_pause before update of status on ghouls.runs
  for each row when (new.paused_at is not null and old.status not in ('DONE', 'FAILED', 'CANCELLED')
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.end_pause();
`};var Ll={number:16,name:"redrives",sql:`
alter table ghouls.runs
  add column redrive_of uuid,
  add column input_stored_for uuid,
  add constraint runs_redrive check (redrive_of is null or (parent_run_id is null and first_run_id <> run_id));
comment on column ghouls.runs.redrive_of is 'The ended run whose work it takes up again.';
comment on column ghouls.runs.input_stored_for is 'The run for which its input was stored, where that was another.';
comment on column ghouls.runs.starts_at is
  'What now() of its code begins with: the start that it was given, its release from hold, its last restart, or what that of the run began with that it redrives; null: its admission.';
create unique index runs_redrive_of on ghouls.runs (tenant_id, redrive_of) where redrive_of is not null;
create index runs_of_chain on ghouls.runs (tenant_id, first_run_id) where redrive_of is not null;

alter table ghouls.journal add column stored_for uuid;
comment on column ghouls.journal.stored_for is 'The run for which its result was stored, where that was another.';

create function ghouls.own_input() returns trigger
  language plpgsql
  as $function$
begin
  new.input_stored_for := null;
  return new;
end
$function$;
create trigger own_input before update of epoch on ghouls.runs
  for each row when (new.epoch <> old.epoch and old.input_stored_for is not null)
  execute function ghouls.own_input();
`};var Ml={number:17,name:"reconciler",sql:`
drop index ghouls.deliveries_publishable;
create index deliveries_publishable on ghouls.deliveries (priority, next_publication_at, run_id) where status = 'PENDING';
comment on index ghouls.deliveries_publishable is
  'With the run, because the end of a pause makes any number of publications due at one moment, and a page begins among them.';

create table ghouls.passes (
  pass text primary key,
  round bigint not null default 1 check (round >= 1),
  round_until timestamptz,
  cursor_micros bigint,
  cursor_owner text,
  reconciler text,
  started_at timestamptz,
  ended_at timestamptz,
  pages integer not null default 0,
  found integer not null default 0,
  repaired integer not null default 0,
  failed integer not null default 0,
  error text,
  constraint passes_cursor check (num_nulls(cursor_micros, cursor_owner) <> 1)
);
comment on table ghouls.passes is 'How far each pass has come, and what its last turn did. Belongs to the deployment, so it has no tenant.';
comment on column ghouls.passes.round is 'A round goes once over all that was due when it began.';
comment on column ghouls.passes.round_until is 'What becomes due after it belongs to the next round; null: none has begun.';
comment on column ghouls.passes.cursor_micros is 'Where the next page begins; null: at the first.';

create table ghouls.degraded_owners (
  pass text not null,
  owner text not null,
  tenant_id text not null,
  run_id uuid,
  page_id uuid not null,
  degraded_at timestamptz not null,
  tries integer not null default 1 check (tries >= 1),
  next_turn_at timestamptz not null,
  reason text not null,
  primary key (pass, owner)
);
comment on table ghouls.degraded_owners is
  'Owners that a pass could not look after: they take turns of their own. Their page is degraded while one of it is here.';
create index degraded_owners_due on ghouls.degraded_owners (pass, next_turn_at, owner);

create view ghouls.degraded_pages as
select pass, page_id, min(degraded_at) as degraded_at, count(*)::integer as owners, max(tries) as tries, min(next_turn_at) as next_turn_at
from ghouls.degraded_owners
group by pass, page_id;

create table ghouls.repairs (
  tenant_id text not null,
  run_id uuid not null,
  repair_id uuid not null,
  pass text not null,
  rule text not null,
  before_state text not null,
  after_state text not null,
  at timestamptz not null,
  primary key (tenant_id, run_id, repair_id)
);
comment on table ghouls.repairs is
  'What the reconciler has repaired, each in the commit of its repair. Some are written without the lock of their run, so it has no reference to it.';
create index repairs_newest on ghouls.repairs (at desc, repair_id desc);
create index repairs_of_tenant on ghouls.repairs (tenant_id, at desc, repair_id desc);
`};var jl={number:18,name:"evidence",sql:`
alter table ghouls.evidence drop constraint evidence_class_check;
alter table ghouls.evidence add constraint evidence_class_check check (class in ('rejected', 'durable_best_effort'));
alter table ghouls.evidence
  add column ordinal integer check (ordinal >= 1),
  add column tries integer check (tries >= 1),
  add column started_at timestamptz,
  add column completed_at timestamptz;
comment on table ghouls.evidence is
  'Copies of steps, and what came from a worker that had been fenced. Written without the lock of its run, so it has no reference to it.';
create unique index evidence_of_entry on ghouls.evidence (tenant_id, run_id, ordinal) where class = 'durable_best_effort';

create table ghouls.end_acts (
  tenant_id text not null,
  run_id uuid not null,
  act text not null check (act in ('record', 'checkpoints', 'seal', 'doubt')),
  ended_at timestamptz not null,
  due_at timestamptz not null,
  primary key (tenant_id, run_id, act)
);
comment on table ghouls.end_acts is
  'What is still to be done after the end of a run: a row goes when it is done. Made under the lock of its run.';
comment on column ghouls.end_acts.act is
  'A doubt takes the place of a seal while the record of the run disagrees with it.';
create index end_acts_due on ghouls.end_acts (act, due_at, run_id);
create index end_acts_to_seal on ghouls.end_acts (tenant_id, due_at, run_id) where act = 'seal';

create table ghouls.terminal_records (
  tenant_id text not null,
  run_id uuid not null,
  record_text text not null,
  record_digest text not null check (record_digest ~ '^[0-9a-f]{64}$'),
  written_at timestamptz not null,
  primary key (tenant_id, run_id)
);
comment on table ghouls.terminal_records is
  'One of each ended run, append only: the digest is SHA-256 of the exact text. Written without the lock of its run, so it has no reference to it.';

create table ghouls.seals (
  tenant_id text not null,
  number integer not null check (number >= 1),
  previous_digest text,
  records integer not null check (records >= 1),
  members_text text not null,
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  sealed_at timestamptz not null,
  primary key (tenant_id, number),
  constraint seals_chained check ((number = 1) = (previous_digest is null))
);
comment on table ghouls.seals is 'A chain for each tenant, append only, also logged outside of the database.';
comment on column ghouls.seals.members_text is 'Position, run and digest of each record in it, a line each.';
comment on column ghouls.seals.digest is
  'SHA-256 of tenant (as JSON), number, previous digest (or -) and members, each on a line of its own.';

create table ghouls.seal_checks (
  name text primary key check (name = 'rolling'),
  tenant_id text,
  number integer,
  next_at timestamptz not null,
  constraint seal_checks_position check (num_nulls(tenant_id, number) <> 1)
);
comment on table ghouls.seal_checks is 'How far the rolling check of the seals has come. Belongs to the deployment.';
comment on column ghouls.seal_checks.tenant_id is 'Of the seal that was checked last; null: none was in this round.';
insert into ghouls.seal_checks (name, next_at) values ('rolling', ghouls.clock());

alter table ghouls.runs add column bodies_emptied_at timestamptz, add column steps_emptied_at timestamptz;
comment on column ghouls.runs.bodies_emptied_at is 'When retention has emptied its bodies and those of its journal, waits and jobs.';
comment on column ghouls.runs.steps_emptied_at is 'When retention has emptied the copies of its steps.';
create index runs_with_bodies on ghouls.runs (finished_at, run_id) where finished_at is not null and bodies_emptied_at is null;
create index runs_with_steps on ghouls.runs (finished_at, run_id) where finished_at is not null and steps_emptied_at is null;

alter table ghouls.consents alter column request_text drop not null;
alter table ghouls.consents add constraint consents_request check (request_text is not null or closed_at is not null);
alter table ghouls.attempts alter column request_text drop not null;
alter table ghouls.attempts add constraint attempts_request check (request_text is not null or closed_at is not null);

create or replace function ghouls.keep_terminal_run() returns trigger
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
  if old.bodies_emptied_at is null then allowed.bodies_emptied_at := null; end if;
  if old.steps_emptied_at is null then allowed.steps_emptied_at := null; end if;
  if allowed is distinct from old then
    raise exception 'a terminal run does not change' using errcode = 'GH001';
  end if;
  return new;
end
$function$;

alter table ghouls.audit add column after_end boolean not null default false;
comment on column ghouls.audit.after_end is 'Whether its run had ended before: then it is no part of the terminal record.';
update ghouls.audit word set after_end = true
from ghouls.runs run
where run.tenant_id = word.tenant_id and run.run_id = word.run_id and run.finished_at < word.at;

create function ghouls.place_word() returns trigger
  language plpgsql
  as $function$
begin
  new.after_end := exists (
    select from ghouls.runs run
    where run.tenant_id = new.tenant_id and run.run_id = new.run_id and run.finished_at is not null);
  return new;
end
$function$;
comment on function ghouls.place_word() is 'The run is locked by then. Times are no proof: clocks step, and one statement may be late.';
create trigger place_word before insert on ghouls.audit for each row execute function ghouls.place_word();

create function ghouls.micros(at timestamptz) returns bigint
  language sql stable parallel safe
  as $function$select (extract(epoch from at) * 1000000)::bigint$function$;
comment on function ghouls.micros(timestamptz) is 'Microseconds since 1970: whatever the time zone and the date style of a session are.';

create function ghouls.text_digest(of_text text) returns text
  language sql stable parallel safe
  as $function$select encode(sha256(convert_to(of_text, 'UTF8')), 'hex')$function$;

create function ghouls.terminal_text(of_tenant text, of_run uuid) returns text
  language sql stable
  as $function$
select jsonb_build_object(
  'format', 1,
  'tenant', run.tenant_id,
  'run', run.run_id,
  'status', run.status,
  'request', jsonb_build_object('digest', run.request_digest, 'key', run.idempotency_key, 'by', run.requested_by,
    'roles', to_jsonb(run.requested_roles), 'agent', run.agent, 'queue', run.queue, 'priority', run.priority),
  'workflow', jsonb_build_object('name', run.workflow_name, 'version', run.workflow_version, 'digest', run.workflow_digest),
  'links', jsonb_build_object('first', run.first_run_id, 'redriveOf', run.redrive_of, 'parent', run.parent_run_id,
    'parentArm', run.parent_arm_id, 'parentClose', run.parent_close),
  'bodies', jsonb_build_object('input', run.input_digest, 'output', run.output_digest, 'error', run.error_digest,
    'errorCode', run.error_code),
  'cancel', case when run.cancelled_by is not null then jsonb_build_object('by', run.cancelled_by, 'reason', run.cancel_reason) end,
  'times', jsonb_build_object('created', ghouls.micros(run.created_at), 'starts', ghouls.micros(run.starts_at),
    'started', ghouls.micros(run.started_at), 'deadline', ghouls.micros(run.deadline_at), 'finished', ghouls.micros(run.finished_at)),
  'journal', (
    select jsonb_build_object('length', run.journal_length, 'entries', count(*), 'epoch', run.epoch, 'digest', ghouls.text_digest(coalesce(string_agg(
      jsonb_build_array(j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.tries, j.result_digest)::text,
      chr(10) order by j.ordinal), '')))
    from ghouls.journal j
    where j.tenant_id = run.tenant_id and j.run_id = run.run_id),
  'deliveries', coalesce((
    select jsonb_agg(jsonb_build_array(d.seq, d.cause, d.status, d.outcome, d.claimed_by, ghouls.micros(d.created_at),
      ghouls.micros(d.claimed_at), ghouls.micros(d.settled_at), ghouls.micros(d.fenced_at)) order by d.seq)
    from ghouls.deliveries d
    where d.tenant_id = run.tenant_id and d.run_id = run.run_id), '[]'),
  'items', coalesce((
    select jsonb_agg(jsonb_build_array(i.kind, i.key, i.seq, i.acknowledged_by, i.acknowledgement, ghouls.micros(i.acknowledged_at))
      order by i.kind collate "C", i.key collate "C")
    from ghouls.containment_items i
    where i.tenant_id = run.tenant_id and i.run_id = run.run_id), '[]'),
  'consents', coalesce((
    select jsonb_agg(jsonb_build_object('consent', c.consent_id, 'status', c.status, 'digest', c.request_digest, 'by', c.closed_by,
      'closed', ghouls.micros(c.closed_at), 'decisions', coalesce((
        select jsonb_agg(jsonb_build_array(s.subject, s.verdict, s.comment_digest, ghouls.micros(s.decided_at)) order by s.subject collate "C")
        from ghouls.consent_decisions s
        where s.tenant_id = c.tenant_id and s.run_id = c.run_id and s.consent_id = c.consent_id), '[]')) order by c.consent_id)
    from ghouls.consents c
    where c.tenant_id = run.tenant_id and c.run_id = run.run_id), '[]'),
  'attempts', coalesce((
    select jsonb_agg(jsonb_build_object('attempt', t.attempt_id, 'service', t.service, 'status', t.status, 'request', t.request_digest,
      'report', t.report_digest, 'by', t.closed_by, 'closed', ghouls.micros(t.closed_at)) order by t.attempt_id)
    from ghouls.attempts t
    where t.tenant_id = run.tenant_id and t.run_id = run.run_id), '[]'),
  'acts', coalesce((
    select jsonb_agg(jsonb_build_array(word.actor, word.act, word.subject, word.reason, ghouls.micros(word.at)) order by word.at, word.audit_id)
    from ghouls.audit word
    where word.tenant_id = run.tenant_id and word.run_id = run.run_id and not word.after_end), '[]')
)::text
from ghouls.runs run
where run.tenant_id = of_tenant and run.run_id = of_run and run.finished_at is not null
$function$;
comment on function ghouls.terminal_text(text, uuid) is
  'The text of a terminal record: only what can no longer change, and nothing that retention empties. Null while the run goes on.';

create function ghouls.seal_digest(of_tenant text, of_number integer, of_previous text, of_members text) returns text
  language sql stable
  as $function$
select ghouls.text_digest(concat_ws(chr(10), to_jsonb(of_tenant)::text, of_number::text, coalesce(of_previous, '-'), of_members))
$function$;

create function ghouls.seal_members(of_text text)
  returns table (place integer, run_id uuid, record_digest text)
  language sql stable
  as $function$
select split_part(line, ' ', 1)::integer, split_part(line, ' ', 2)::uuid, split_part(line, ' ', 3)
from string_to_table(of_text, chr(10)) as line
where line ~ '^[1-9][0-9]{0,3} [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} [0-9a-f]{64}$'
$function$;
comment on function ghouls.seal_members(text) is 'Lines that are none are left out: a seal of which there are fewer than it says is altered.';

create function ghouls.may_be_emptied(of_tenant text, of_run uuid) returns boolean
  language plpgsql stable
  as $function$
begin
  return coalesce((
    select run.finished_at is not null and run.quarantined_at is null
      and exists (
        select from ghouls.terminal_records record where record.tenant_id = run.tenant_id and record.run_id = run.run_id)
      and not exists (
        select from ghouls.end_acts act
        where act.tenant_id = run.tenant_id and act.run_id = run.run_id and act.act in ('record', 'seal', 'doubt'))
      and not exists (
        select from ghouls.runs parent
        where parent.tenant_id = run.tenant_id and parent.run_id = run.parent_run_id and parent.finished_at is null)
      and not exists (
        select from ghouls.integrity_faults fault
        where fault.tenant_id = run.tenant_id and fault.run_id = run.run_id and fault.gone_at is null and fault.acknowledged_at is null)
    from ghouls.runs run
    where run.tenant_id = of_tenant and run.run_id = of_run), false);
end
$function$;
comment on function ghouls.may_be_emptied(text, uuid) is
  'Nobody needs its bodies: it is sealed, undoubted, and its parent, which reads its result, has ended too.';

create function ghouls.empty_bodies(of_tenant text, of_run uuid, at_most integer) returns integer
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $function$
declare
  emptied integer;
begin
  perform from ghouls.runs run where run.tenant_id = of_tenant and run.run_id = of_run for update;
  if not ghouls.may_be_emptied(of_tenant, of_run) then
    return null;
  end if;
  update ghouls.journal j set result_text = null
  from (
    select x.ordinal from ghouls.journal x
    where x.tenant_id = of_tenant and x.run_id = of_run and x.result_text is not null
    order by x.ordinal limit at_most) as full_one
  where j.tenant_id = of_tenant and j.run_id = of_run and j.ordinal = full_one.ordinal;
  get diagnostics emptied = row_count;
  if emptied >= at_most then
    return emptied;
  end if;
  update ghouls.signals set payload_text = null
    where tenant_id = of_tenant and run_id = of_run and payload_text is not null;
  update ghouls.consents set request_text = null
    where tenant_id = of_tenant and run_id = of_run and request_text is not null;
  update ghouls.consent_decisions set comment_text = null
    where tenant_id = of_tenant and run_id = of_run and comment_text is not null;
  update ghouls.attempts set request_text = null, report_text = null
    where tenant_id = of_tenant and run_id = of_run and (request_text is not null or report_text is not null);
  update ghouls.runs set input_text = null, output_text = null, error_text = null, bodies_emptied_at = ghouls.clock()
    where tenant_id = of_tenant and run_id = of_run;
  return emptied;
end
$function$;
comment on function ghouls.empty_bodies(text, uuid, integer) is
  'Empties bodies of an ended run, never digests: so many of its journal, and with the last of them all the others. Null: it may not be.';

create function ghouls.empty_steps(of_tenant text, of_run uuid, at_most integer) returns integer
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $function$
declare
  emptied integer;
begin
  perform from ghouls.runs run where run.tenant_id = of_tenant and run.run_id = of_run for update;
  if not ghouls.may_be_emptied(of_tenant, of_run) then
    return null;
  end if;
  update ghouls.evidence e set body_text = null
  from (
    select x.evidence_id from ghouls.evidence x
    where x.tenant_id = of_tenant and x.run_id = of_run and x.body_text is not null
    order by x.evidence_id limit at_most) as full_one
  where e.tenant_id = of_tenant and e.run_id = of_run and e.evidence_id = full_one.evidence_id;
  get diagnostics emptied = row_count;
  if emptied < at_most then
    update ghouls.runs set steps_emptied_at = ghouls.clock() where tenant_id = of_tenant and run_id = of_run;
  end if;
  return emptied;
end
$function$;
comment on function ghouls.empty_steps(text, uuid, integer) is 'The same of the copies of its steps, and of what fenced workers left.';

revoke execute on function ghouls.empty_bodies(text, uuid, integer) from public;
revoke execute on function ghouls.empty_steps(text, uuid, integer) from public;

create function ghouls.note_end() returns trigger
  language plpgsql
  as $function$
begin
  insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
    select new.tenant_id, new.run_id, act, new.finished_at,
      new.finished_at + case act when 'seal' then interval '1 minute' else interval '0' end
    from unnest(array['record', 'checkpoints', 'seal']) as act
    where act <> 'checkpoints' or new.generation > 0
    on conflict (tenant_id, run_id, act) do nothing;
  return null;
end
$function$;
create trigger note_end after update of status on ghouls.runs
  for each row when (new.status in ('DONE', 'FAILED', 'CANCELLED') and old.status not in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.note_end();

insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
select run.tenant_id, run.run_id, act, run.finished_at, run.finished_at
from ghouls.runs run
cross join unnest(array['record', 'checkpoints', 'seal']) as act
where run.status in ('DONE', 'FAILED', 'CANCELLED') and (act <> 'checkpoints' or run.generation > 0);
`};var zl={number:19,name:"integrity",sql:`
create table ghouls.integrity_faults (
  fault_id uuid primary key,
  check_name text not null,
  tenant_id text,
  run_id uuid,
  subject text not null,
  detail text not null,
  found_at timestamptz not null,
  found_by text not null,
  seen_at timestamptz not null,
  gone_at timestamptz,
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledgement text,
  quarantine text check (quarantine in ('made', 'standing', 'ended', 'absent')),
  constraint integrity_faults_acknowledged check (num_nulls(acknowledged_at, acknowledged_by, acknowledgement) in (0, 3)),
  constraint integrity_faults_run check (run_id is null or tenant_id is not null)
);
comment on table ghouls.integrity_faults is
  'Contradictions that were found. A row stays, and tells who acknowledged it or when it was gone; one that comes back is another row.';
comment on column ghouls.integrity_faults.tenant_id is 'Null: it belongs to the deployment.';
comment on column ghouls.integrity_faults.subject is 'What tells it from others of its check, such as a run or a workflow pin.';
comment on column ghouls.integrity_faults.quarantine is
  'What became of its run, once: quarantined for it; in quarantine before; ended, so that nothing is to be held; or there is none. Null: not yet looked at.';
create unique index integrity_faults_one_standing on ghouls.integrity_faults (check_name, coalesce(tenant_id, ''), subject) where gone_at is null;
create index integrity_faults_open on ghouls.integrity_faults (found_at, fault_id) where gone_at is null and acknowledged_at is null;
create index integrity_faults_of_tenant on ghouls.integrity_faults (coalesce(tenant_id, ''), found_at desc, fault_id desc);
create index integrity_faults_to_quarantine on ghouls.integrity_faults (run_id, fault_id) where gone_at is null and quarantine is null and run_id is not null;
`};var Fl={number:20,name:"traces",sql:`
alter table ghouls.deliveries
  add column made_in_trace text check (length(made_in_trace) <= 60),
  add column hop_trace text check (length(hop_trace) <= 60);
comment on column ghouls.deliveries.made_in_trace is 'W3C traceparent of the request that has admitted its run; null where nobody traces.';
comment on column ghouls.deliveries.hop_trace is 'W3C traceparent of the hop that carried it.';

create table ghouls.dead_letters (
  queue text not null,
  message_id text not null,
  body_digest text not null,
  bytes integer not null,
  reason text not null,
  first_seen_at timestamptz not null,
  seen_at timestamptz not null,
  primary key (queue, message_id)
);
comment on table ghouls.dead_letters is
  'Messages of dead-letter queues that name no delivery of this ledger: they stay there for a person. Belongs to the deployment, so it has no tenant.';
`};var Gl={number:21,name:"remembers",sql:`
alter table ghouls.attempts
  add column remembers_seconds double precision check (remembers_seconds > 0),
  add column sends_from timestamptz;
comment on column ghouls.attempts.remembers_seconds is
  'How long its service knows a key, from the first moment at which it may have been sent; null: for ever.';
comment on column ghouls.attempts.sends_from is
  'The first moment at which whoever holds the token, or held it last, can have sent.';
`};var Ul={number:22,name:"releases",sql:`
create table ghouls.releases (
  workflow_name text not null,
  workflow_version integer not null,
  workflow_digest text not null,
  bundle_digest text not null check (bundle_digest ~ '^[0-9a-f]{64}$'),
  bytes integer not null check (bytes > 0),
  on_worker_loss text not null check (on_worker_loss in ('resume', 'fail')),
  deadline_ms bigint,
  basis_text text not null,
  starts text[] not null,
  build text not null,
  recorded_at timestamptz not null,
  deployed_at timestamptz not null,
  removed_at timestamptz,
  deleted_at timestamptz,
  primary key (workflow_name, workflow_digest, bundle_digest),
  constraint releases_deleted check (deleted_at is null or removed_at is not null)
);
comment on table ghouls.releases is
  'Code that a worker may load for runs that are pinned to it. Belongs to the deployment, so it has no tenant. A row stays when its bundle is removed.';
comment on column ghouls.releases.bundle_digest is 'SHA-256 of the bundle: its name in the store, and what a worker compares its bytes with.';
comment on column ghouls.releases.basis_text is 'Canonical JSON of what the workflow digest is made of; that digest is the SHA-256 of this text.';
comment on column ghouls.releases.starts is 'Digests of the workflows whose runs this code may start as children: their releases are kept as long as this one.';
comment on column ghouls.releases.deployed_at is 'When a deploy last had it.';
comment on column ghouls.releases.removed_at is 'When it was given up, because no open run needed it. A deploy that has it again takes that back.';
comment on column ghouls.releases.deleted_at is 'When its bundle was taken out of the store.';
create index releases_to_delete on ghouls.releases (bundle_digest) where removed_at is not null and deleted_at is null;
`};var Wl={number:23,name:"labels",sql:`
create table ghouls.labels (
  tenant_id text not null,
  run_id uuid not null,
  key text not null check (key ~ '^[a-z0-9][a-z0-9._/-]{0,62}$'),
  value text not null check (char_length(value) <= 200),
  created_at timestamptz not null,
  primary key (tenant_id, run_id, key),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id)
);
comment on table ghouls.labels is
  'Labels of runs, as they were asked for; they never change. created_at is that of the run, so that a page by label needs one index.';
create index labels_newest on ghouls.labels (tenant_id, key, value, created_at desc, run_id desc);
`};var Bl={number:24,name:"shown",sql:`
create table ghouls.skips (
  tenant_id text not null,
  run_id uuid not null,
  seq integer not null check (seq >= 1),
  reason text not null,
  times integer not null check (times >= 1),
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (tenant_id, run_id, seq, reason)
);
comment on table ghouls.skips is
  'Messages of deliveries that were not claimed, one row a reason. Best effort, and written without the lock of its run, so it has no reference to it.';

alter table ghouls.evidence add column number integer check (number >= 1);
comment on column ghouls.evidence.number is
  'Of an emitted event: the place that its hop gave it in the live channel, so that whoever has missed it there is told once.';
create index evidence_of_event on ghouls.evidence (tenant_id, run_id, seq, number) where number is not null;
create index evidence_in_time on ghouls.evidence (tenant_id, run_id, completed_at, evidence_id) where class = 'durable_best_effort';
create index evidence_rejected on ghouls.evidence (tenant_id, run_id, recorded_at desc, evidence_id) where class = 'rejected';
create index seals_in_time on ghouls.seals (tenant_id, sealed_at);
`};var In=[xl,El,vl,Il,Sl,Al,Rl,$l,Ol,Cl,Dl,Pl,Nl,ql,Tl,Ll,Ml,jl,zl,Fl,Gl,Ul,Wl,Bl];var Kl="the schema is up to date",Er=[Ae("integrity","open deliveries agree with their run","doctor_open_deliveries"),Ae("integrity","working runs have an open delivery","doctor_working_runs"),Ae("integrity","terminal runs have nothing open","doctor_terminal_runs"),Ae("integrity","pending deliveries have a next publication","doctor_pending_deliveries"),Ae("integrity","journals are as long as their runs say","doctor_journals"),Ae("integrity","runs know how many items are open","doctor_open_items"),Ae("integrity","ending runs have something left to contain","doctor_endings"),Ae("integrity","a parked run has one open wait with an open arm, and its checkpoint","doctor_waits"),Ae("integrity","waits, arms and consents are closed with what they belong to","doctor_ended_waits"),Ae("integrity","attempts end before their run, and what ends brings it back","doctor_attempts"),Ae("integrity","children end before their parents, and what ends brings them back","doctor_children"),Ae("integrity","a run that fails or is cancelled undoes every step of it that it can","doctor_undos"),Ae("integrity","units are held by carried runs only, and no more than there are","doctor_reservations"),Ae("attention","no service contradicts what it said of a job","doctor_contradicted_attempts"),Ae("attention","no lost claim waits for its judgement","doctor_lost_claims"),Ae("attention","no run is quarantined","doctor_quarantined_runs"),Ae("attention","no open run asks for a person","doctor_runs_with_attention")],Hl=[Kl,...Er.map(({check:t})=>t)];function Ae(t,e,n){return{kind:t,check:e,view:n,statement:_(n.replace("_",".").replaceAll("_","-"),`select * from ghouls.${n}
limit 100`)}}s(Ae,"view");var Sx=_("doctor.schema-version","select coalesce(max(number), 0) as version from ghouls.migrations");async function vr(t){let[e]=await t.run(Sx,[]);return{applied:Number(e?.version??0),known:In.at(-1)?.number??0}}s(vr,"readSchemaVersion");async function Jl(t){return Yl(t,Er.filter(({kind:e})=>e==="attention"))}s(Jl,"readWhatWaits");async function Vl(t){let e=await vr(t);return[...[{check:Kl,kind:"integrity",ok:e.applied===e.known,rows:e.applied===e.known?[]:[e]}],...await Yl(t,Er)]}s(Vl,"examine");async function Yl(t,e){let n=[];for(let{check:r,kind:o,statement:i}of e){let a=await t.run(i,[]);n.push({check:r,kind:o,ok:a.length===0,rows:a})}return n}s(Yl,"evaluate");var Ql=["pg","neon"];function So(t){t.on("connect",e=>{e.on("error",()=>{})}),t.on("error",()=>{})}s(So,"surviveLostConnections");import{createHash as jx}from"node:crypto";import{parseIntoClientConfig as Ax}from"pg-connection-string";function Xl(t){if(!/^postgres(?:ql)?:\/\//i.test(t))throw Qi(/^[a-z][a-z\d+.-]*:\/\//i.test(t)?"has another scheme than postgres://":"is no URL");let e;try{e=Ax(t)}catch(n){throw Qi(Rx(t,n))}if(e.port!==void 0&&!ec(e.port))throw Qi(Zl);return e}s(Xl,"addressOf");var Zl="has a port that is no number from 1 to 65535";function Rx(t,e){if(e instanceof Error&&"path"in e&&"code"in e)return`names the file ${String(e.path)}, which cannot be read (${String(e.code)})`;let n=/^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(t)?.[1]??"",r=/:([^:\]]*)$/.exec(n)?.[1];return r!==void 0&&r!==""&&!ec(Number(r))?Zl:"cannot be read"}s(Rx,"whyUnreadable");function ec(t){return Number.isInteger(t)&&t>=1&&t<=65535}s(ec,"isPort");function Qi(t){return new x("configuration_invalid",`the connection string ${t}`,{fix:"Write postgres://user:password@host:port/database, with / ? # % and @ in a password as %2F %3F %23 %25 and %40."})}s(Qi,"invalid");async function tc(t){let e=await import("@neondatabase/serverless"),{Query:n}=e.Client;class r extends n{static{s(this,"ExtendedQuery")}requiresPreparation(){return!0}}class o extends e.Client{static{s(this,"Client")}constructor(a){super(a);let d=this.query.bind(this),u=s((...l)=>$x(l[0])?new Promise((c,m)=>{let f=s((p,h)=>p?m(p):c(h),"done");d(new r(l[0],void 0,f))}):d(...l),"query");this.query=u,t!==void 0&&(this.neonConfig.wsProxy=t,this.neonConfig.useSecureWebSocket=!1,this.neonConfig.pipelineTLS=!1,this.neonConfig.pipelineConnect=!1,this.neonConfig.coalesceWrites=!1)}}return i=>{let a=new e.Pool(i);return a.Client=o,So(a),a}}s(tc,"neonPool");function $x(t){return typeof t=="object"&&t!==null&&"queryMode"in t}s($x,"isExtended");import Ox from"pg";import Cx from"pg-types/lib/textParsers.js";var{init:Dx}=Cx,nc=new Map;Dx((t,e)=>{nc.set(t,e)});var Px={getTypeParser:s(t=>nc.get(t)??String,"getTypeParser")},rc=s(t=>{let e=new Ox.Pool({...t,types:Px});return So(e),e},"openPgPool");var Ao=class{static{s(this,"Patience")}#e;#t;#n=new AbortController;constructor(e,n){this.#e=n,this.#t=setTimeout(()=>this.#n.abort(),e)}get over(){return this.#n.signal.aborted}end(){clearTimeout(this.#t)}async allows(e,n=400){if(this.over)return!1;let r=Math.min(n,50*2**(e-1))*(.5+this.#e());return await this.bound(new Promise(o=>setTimeout(o,r))),!this.over}async bound(e){if(this.over)return e;let{signal:n}=this.#n,r,o=new Promise(i=>{r=s(()=>i(void 0),"stop"),n.addEventListener("abort",r,{once:!0})});try{return await Promise.race([e,o])}finally{r!==void 0&&n.removeEventListener("abort",r)}}};var Nx=new Set(["ECONNREFUSED","ECONNRESET","ETIMEDOUT","EPIPE","EHOSTUNREACH","ENETUNREACH","EAI_AGAIN"]),qx=/^Connection terminated|timeout expired|timeout exceeded when trying to connect/i;function oc(t){if(Xi(t))return!1;let e=Xe(t);return e!==void 0?e==="57P03"||e==="53300"||e.startsWith("08"):t instanceof Error?"code"in t&&typeof t.code=="string"?Nx.has(t.code):qx.test(t.message):!0}s(oc,"mayComeSoon");var Tx=/\bauthentication failed\b/i;function Xi(t){let e=Xe(t);return e==="08P01"?t instanceof Error&&Tx.test(t.message):e==="28P01"||e==="28000"}s(Xi,"isRefused");var Lx=2e3,Sn=class{static{s(this,"Connections")}max;#e;#t;#n;#r;#o=new Set;#s;constructor(e){this.#e=e,this.max=e.maxConnections??2,this.#t=e.chance??(()=>.5)}patience(){return new Ao(this.#e.connectPatienceMs??1e4,this.#t)}async connect(e,n){let r=0,o=new Error("no connection in time");for(let i=1;;i+=1){let a,d=!1;try{a=await this.#d(this.#a(),n),d=this.#u(a);let u=await this.#m(a,n);if(u!==void 0)return u}catch(u){if(o=u,a!==void 0&&Xi(u)){if(r+=1,await this.#d(this.#f(a),n).catch(Zi(e))&&r===1||this.#i&&await n.allows(i,Lx))continue;return Zi(e)(u)}if(a!==void 0&&a.state!=="current"||!(a!==void 0&&d&&this.#u(a))&&oc(u)&&await n.allows(i))continue}return Zi(e)(o)}}async#d(e,n){if(!this.#i)return e;let r=await n.bound(e.then(o=>({value:o})));if(r===void 0)throw Mx();return r.value}get#i(){return typeof this.#e.connectionString!="string"}#u(e){return e.held>=this.max}async#m(e,n){e.waiting+=1;let r=e.pool.connect().finally(()=>{e.waiting-=1,this.#p(e)}),o=await n.bound(r);if(o===void 0){r.then(i=>i.release(!1),()=>{});return}return e.held+=1,{keepsNames:e.keepsNames,query:s(i=>o.query(i),"query"),release:s(i=>{e.held-=1,o.release(i)},"release")}}async#a(){this.#_(),this.#n??=this.#l().then(n=>this.#c(n));let e=this.#n;try{return await e}catch(n){throw this.#n===e&&(this.#n=void 0),n}}async#l(){let{connectionString:e}=this.#e;if(typeof e=="string")return e;let n=this.patience();try{return await this.#d(e(),n)}finally{n.end()}}async#c(e){let{driver:n="pg",neonProxy:r,password:o}=this.#e,i=Xl(e),a=n==="neon"?await tc(r):rc;this.#_();let d=a({application_name:this.#e.applicationName??"ghouls",query_timeout:this.#e.answerTimeoutMs??2e4,...i,...o===void 0?{}:{password:o},max:this.max,connectionTimeoutMillis:this.#e.connectTimeoutMs??5e3,idleTimeoutMillis:3e4,allowExitOnIdle:!0}),u=n==="pg"&&!/-pooler\b/.test(i.host??""),l={connectionString:e,pool:d,keepsNames:u,waiting:0,held:0,state:"current",ending:void 0};return this.#o.add(l),l}async#f(e){return e.state!=="current"?!0:this.#i?(this.#r??=this.#g(e).finally(()=>{this.#r=void 0}),this.#r):!1}async#g(e){let n=await this.#l();if(n===e.connectionString)return!1;let r=await this.#c(n);return e.state="replaced",this.#n=Promise.resolve(r),this.#p(e),!0}#p(e){e.state!=="replaced"||e.waiting>0||this.#h(e)}#h(e){return e.state="ended",e.ending??=e.pool.end().finally(()=>this.#o.delete(e)),e.ending}#_(){if(this.#s!==void 0)throw new Error("the ledger has been closed")}close(){return this.#s??=this.#b(),this.#s}async#b(){await Promise.all([...this.#o].map(e=>this.#h(e)))}};function Mx(){return new Error("the connection string was not fetched in time")}s(Mx,"unfetched");function Zi(t){return e=>{throw e instanceof W?e:new W("unavailable",t,kt(e,!1).sqlState,e)}}s(Zi,"unavailable");var Ro=class{static{s(this,"OpenTransaction")}#e;#t=!1;#n=!1;constructor(e){this.#e=e}async run(e,n){return this.#s(this.#e.send(this.#o(),e,n))}async ask(e,n){let r=this.#o(),{faults:o,what:i}=this.#e,a=s(async()=>{await o("ledger.before-statement",`${i}.ask`);let d=await r.query({text:e,values:[...n],queryMode:"extended"});return await o("ledger.after-statement",`${i}.ask`),d},"asking");return this.#s(a())}async commit(){let e=this.#o();try{await this.#r(e)}catch(n){throw pr(n)&&(this.#n=!0),n}this.#i(!1)}async#r(e){let{faults:n,what:r}=this.#e,o;try{await n("ledger.before-commit",r),o=(await this.#d(e.query("commit"))).command,await n("ledger.after-commit",r)}catch(i){let{kind:a,sqlState:d}=kt(i,!0);throw new W(a,`${r}: commit`,d,i)}if(o!=="COMMIT")throw new W("defect",`${r}: commit answered ${o}`,void 0,void 0)}async rollback(e=this.#e.answerWithinMs){if(this.#t)return;this.#t=!0;let n=this.#n?!1:await sc(this.#e.held.query("rollback"),e).then(()=>!0,()=>!1);this.#i(!n)}#o(){if(this.#t)throw new Error(`${this.#e.what}: the transaction is over`);return this.#e.held}async#s(e){try{return await this.#d(e)}catch(n){throw pr(n)&&(this.#n=!0),n}}#d(e){return sc(e,this.#e.answerWithinMs)}#i(e){this.#t=!0,this.#e.held.release(e),this.#e.ended?.()}};async function sc(t,e){if(e===void 0)return t;let n,r=new Promise((o,i)=>{n=setTimeout(()=>i(new Error(`no answer within ${e} ms`)),e)});try{return await Promise.race([t,r])}finally{clearTimeout(n)}}s(sc,"inTime");var $o=class{static{s(this,"Turns")}#e;#t=[];constructor(e){this.#e=e}async take(e){return this.#e>0?(this.#e-=1,!0):new Promise(n=>{let r=s(()=>{clearTimeout(o),n(!0)},"taken"),o=setTimeout(()=>{this.#t.splice(this.#t.indexOf(r),1),n(!1)},e);this.#t.push(r)})}give(){let e=this.#t.shift();e===void 0?this.#e+=1:e(!0)}};var zx=4,Oo=class{static{s(this,"Database")}schema;turns;#e;#t;#n;#r;#o=new Map;#s=!1;constructor(e){this.schema=e.schema??yn,Jt("",this.schema),this.#t=e.preparedStatements,this.#n=e.faults??yi,this.#r=e.chance??(()=>.5),this.#e=new Sn(e),this.turns=new $o(Math.max(1,this.#e.max-1))}async run(e,n){let r=this.#e.patience(),o=!1,i=!0,a=s(d=>o&&d instanceof W&&d.kind!=="unknown"?new W("unknown",e.name,d.sqlState,d):d,"asTold");try{for(let d=1;;d+=1){let u=await this.#e.connect(e.name,r).catch(l=>{throw a(l)});try{return await this.#d(u,e,n,i)}catch(l){if(l instanceof W&&yo(l.cause)&&(i=!1),o||=l instanceof W&&l.kind==="unknown",!(l instanceof W)||!ic(l)||d>=ac(l))throw a(l);await this.#a(d)}}}finally{r.end()}}async#d(e,n,r,o){let i=!0;try{let a=await this.#i(e,n,r,o);return i=!1,a}catch(a){throw i=pr(a),a}finally{e.release(i)}}async#i(e,n,r,o=!0){try{await this.#n("ledger.before-statement",n.name);let{text:i,name:a}=this.#u(n),d=o&&!this.#s&&(this.#t??e.keepsNames),u=await e.query({text:i,values:[...r],...d?{name:a}:{}});return await this.#n("ledger.after-statement",n.name),u.rows}catch(i){let{kind:a,sqlState:d}=kt(i,n.writes);throw tl(d)&&(this.#s=!0),new W(a,n.name,d,i)}}#u(e){let n=this.#o.get(e.name);if(n===void 0){let r=Jt(e.text,this.schema),o=jx("sha256").update(r).digest("hex").slice(0,12);n={text:r,name:`${e.name}:${o}`},this.#o.set(e.name,n)}return n}async transaction(e,n){let r=await this.begin(e);try{let o=await n({run:s((i,a)=>r.run(i,a),"run")});return await r.commit(),o}catch(o){throw await r.rollback(),o}}async begin(e,n,r){return new Ro({held:await this.#m(e),what:e,faults:this.#n,send:s((o,i,a)=>this.#i(o,i,a),"send"),answerWithinMs:n,ended:r})}async#m(e){let n=this.#e.patience();try{for(let r=1;;r+=1){let o=await this.#e.connect(e,n);try{return await o.query("begin isolation level read committed"),o}catch(i){o.release(!0);let{kind:a,sqlState:d}=kt(i,!1),u=new W(a,`${e}: begin`,d,i);if(!ic(u)||r>=ac(u))throw u;await this.#a(r)}}}finally{n.end()}}#a(e){let n=25*4**(e-1)*(.5+this.#r());return new Promise(r=>setTimeout(r,n))}async close(){await this.#e.close()}};function ic(t){return t.kind!=="defect"&&t.kind!=="schema"&&t.kind!=="busy"}s(ic,"isRepeatable");function ac(t){return t.cause instanceof Error&&/read timeout/i.test(t.cause.message)||t.sqlState==="57014"?2:zx}s(ac,"triesOf");var Fx=`r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at, run.open_items, run.generation, run.idle_yields
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;function Z(t){return`${Fx}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.acts_until, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes,
    r.open_items, r.generation, r.idle_yields
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${I(t)}) and (r.quarantined_at is null or r.status = 'CANCELLING')
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`}s(Z,"heldBy");var ee=["RUNNING","AWAITING_HARDWARE"];function Ir(t,e){return dc(t,Ft("run",e))}s(Ir,"runMayBecome");function Co(t,e){return dc(t,Ft("delivery",e))}s(Co,"deliveryMayBecome");function dc(t,e){return e.length===0?"false":`${t} in (${I(e)})`}s(dc,"oneOf");var it="json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";var Gx=y("deliveries.settle",`
with ${Z(ee)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${Ir("r.status","DONE")}) or ($5 = 'FAILED' and ${Ir("r.status","FAILED")}))
  returning t.tenant_id, t.run_id, t.seq, t.claimed_by, t.settled_at
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${it}, i.seq, i.token, settled.claimed_by, settled.settled_at, settled.settled_at
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
returning run.status`),Ux=y("deliveries.settle-contain",`
with ${Z(X)}
update ghouls.deliveries t
set status = 'SETTLED', outcome = $5, settled_at = ghouls.clock()
from held
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and t.cause = 'contain'
returning t.run_id`),Wx=_("deliveries.state-of-claim",`
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`),Bx=y("runs.quarantine",`
with ${Z(ee)}, settled as (
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
returning run_id`),Kx=y("runs.raise-attention",`
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
  and run.status not in (${I(Pe("run"))})
returning run.run_id`);async function uc(t,e,n){let r=n.status==="DONE"?"done":"failed",o=n.status==="DONE"?[n.outputText,n.outputDigest,null,null,null]:[null,null,n.errorCode,n.errorText,n.errorDigest],i=await t.run(Gx,[...Po(e),n.status,r,...o]),[a]=i;return a!==void 0?{settled:!0,runStatus:g(a).text("status")}:ea(t,e,r)}s(uc,"settleDeliveryIfClaimed");async function lc(t,e,n){return t.transaction("deliveries.settle-contain",async r=>{await O(r,[e]);let i=(await r.run(Ux,[...Po(e),n])).length===1||(await ea(r,e,n)).settled;return{settled:i,ended:i?await ke(r,e):null}})}s(lc,"settleContainIfClaimed");async function cc(t,e,n){return(await t.run(Bx,[...Po(e),n])).length===1?!0:(await ea(t,e,"given_back")).settled}s(cc,"quarantineRunIfClaimed");async function Do(t,e,n){return(await t.run(Kx,[e.tenantId,e.runId,n])).length===1}s(Do,"raiseAttention");async function ea(t,e,n){let[r]=await t.run(Wx,Po(e));if(r===void 0)return{settled:!1,deliveryStatus:null,runStatus:null};let o=g(r),i=o.text("run_status");return r.mine===!0&&o.textOrNull("outcome")===n?{settled:!0,runStatus:i}:{settled:!1,deliveryStatus:o.text("delivery_status"),runStatus:i}}s(ea,"readClaim");function Po(t){return[t.tenantId,t.runId,t.seq,t.token]}s(Po,"keyOf");function Ne(t,{time:e,id:n,owner:r,column:o},i){return{page:_(t,`${i(`${An(e)} and ${hr(e,n,2)}`)}
order by ${e}, ${n}
limit $1`),named:_(`${t}-named`,`select distinct on (due.${o}) due.*
from (${i(`${r} = any($2::uuid[]) and ${ta(e)}`)}) as due
order by due.${o}
limit $1`)}}s(Ne,"dueStatements");var An=s(t=>`${t} <= least($4::timestamptz, ghouls.clock())`,"inPage"),ta=s(t=>`${t} + interval '0 seconds' <= ghouls.clock()`,"dueByName");function xe(t,e,n){let{limit:r,after:o,until:i,owners:a}=n;return a===void 0?t.run(e.page,[r,...nl(o),i??null]):t.run(e.named,[r,a])}s(xe,"runDue");var Yt=s((t,e,n)=>`($${n}::bigint is null
    or (${t}, ${e}) < (timestamptz 'epoch' + $${n} * interval '1 microsecond', $${n+1}::uuid))`,"olderThan");function Rn(t,e,n,r){let o=t.slice(0,e),i=t.length>e?o.at(-1):void 0;return{shown:o.map(r),next:i&&{micros:g(i).text("micros"),id:g(i).text(n)}}}s(Rn,"newestOf");function No(t,{runId:e,status:n},{limit:r,after:o}){return[t,r+1,e??null,n??null,o?.micros??null,o?.id??null]}s(No,"newestValues");var at=["AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER"],Jx=Rt.map(t=>`when '${t}' then '${ji(t)}'`).join(" "),Vx=y("consents.expire",`
with expired as materialized (
  select c.tenant_id, c.run_id, c.consent_id
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.status = 'PENDING' and c.expires_at <= ghouls.clock()
  order by c.consent_id
  for update
)
update ghouls.consents c
set status = case c.on_expiry ${Jx} end, closed_at = ghouls.clock(), closed_by = 'expiry'
from expired
where c.tenant_id = expired.tenant_id and c.run_id = expired.run_id and c.consent_id = expired.consent_id
returning c.consent_id`),Yx=_("arms.facts",`
select a.arm_id, a.owner, a.kind, coalesce(a.due_at <= ghouls.clock(), false) as due, c.consent_id, c.status, c.closed_by,
  (select json_agg(json_build_object('by', s.subject, 'verdict', s.verdict, 'at', floor(extract(epoch from s.decided_at) * 1000), 'comment', s.comment_text) order by s.decided_at, s.subject)
    from ghouls.consent_decisions s
    where s.tenant_id = c.tenant_id and s.run_id = c.run_id and s.consent_id = c.consent_id)::text as decisions,
  (select json_agg(json_build_object('signalId', s.signal_id, 'from', s.sent_by, 'at', floor(extract(epoch from s.received_at) * 1000), 'payload', s.payload_text) order by s.received_at, s.signal_id)
    from (
      select b.* from ghouls.signals b
      where b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name and b.consumed_at is null
      order by b.received_at, b.signal_id
      limit 10
    ) s
    where a.owner = 'signal')::text as signals,
  t.attempt_id, t.status as attempt_status, t.report_text, t.report_digest,
  coalesce(t.cancel_reason = 'deadline', false) as attempt_overdue, child.run_id as child_run_id, child.status as child_status,
  case child.status when 'DONE' then child.output_text when 'FAILED' then child.error_text end as child_text,
  case child.status when 'DONE' then child.output_digest when 'FAILED' then child.error_digest end as child_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by coalesce(c.closed_at, t.closed_at, child.finished_at, (
    select min(b.received_at) from ghouls.signals b
    where a.owner = 'signal' and b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name
      and b.consumed_at is null), a.due_at, a.created_at), a.created_at, a.arm_id`),Qx=y("arms.close",`
with r as materialized (
  select run.tenant_id, run.run_id, run.journal_length
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), closed as (
  update ghouls.arms a
  set closed_at = ghouls.clock(), closing = 'fact'
  from r
  where a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.arm_id = $4 and a.closed_at is null
  returning a.tenant_id, a.run_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.created_at
), consumed as (
  update ghouls.signals s
  set consumed_at = ghouls.clock(), consumed_by = $4
  from closed
  where s.tenant_id = closed.tenant_id and s.run_id = closed.run_id and s.signal_id = $5::uuid and s.consumed_at is null
  returning s.run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select closed.tenant_id, closed.run_id, r.journal_length + 1, closed.epoch, closed.scope, closed.kind, closed.name, closed.nth,
    'ok', $6, $7, 1, d.seq, d.token, date_trunc('milliseconds', closed.created_at), date_trunc('milliseconds', ghouls.clock())
  from closed
  join r on r.tenant_id = closed.tenant_id and r.run_id = closed.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where closed.kind <> 'step'
  returning tenant_id, run_id, ordinal
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $8::bigint
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id, run.journal_bytes
)
select closed.kind, (select count(*) from entry)::integer as entries, (select count(*) from consumed)::integer as consumed,
  coalesce((select counted.journal_bytes from counted), 0) as journal_bytes
from closed`),Xx=y("runs.resume",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), wait as (
  update ghouls.waits w
  set closed_at = ghouls.clock(), closed_by = $3::uuid
  from r
  where w.tenant_id = r.tenant_id and w.run_id = r.run_id and w.generation = r.generation and w.closed_at is null
    and r.status in (${I(at)}) and r.quarantined_at is null
  returning w.tenant_id, w.run_id, w.generation, w.seq, w.closed_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1
  from wait
  where run.tenant_id = wait.tenant_id and run.run_id = wait.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, wait.generation, wait.seq as parked_seq,
    wait.closed_at
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
    moved.generation, moved.closed_at, moved.closed_at + $4::double precision * interval '1 second', moved.closed_at
  from moved
  returning run_id
)
select moved.enqueue_seq, moved.queue, moved.parked_seq from moved join next on next.run_id = moved.run_id`),Zx=_("arms.run-of-arm",`
select a.tenant_id, a.run_id, a.closed_at is null as open,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in
from ghouls.arms a
where a.arm_id = $1`),eE=Ne("arms.due",{time:"a.due_at",id:"a.run_id",owner:"a.run_id",column:"run_id"},t=>`
select a.tenant_id, a.run_id, a.arm_id, run.status, extract(epoch from ghouls.clock() - a.due_at)::double precision as late,
  ${K("a.due_at")}
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null and a.due_at is not null and run.status in (${I(at)})
  and run.quarantined_at is null and ${t}`);async function na(t,e){await t.run(Vx,[e.tenantId,e.runId]);let n=await t.run(Yx,[e.tenantId,e.runId]);return zi(n.map(tE))}s(na,"readClosings");async function ra(t,e,n,r){for(let{armId:o,resultText:i,signalId:a}of r){let[d]=await t.run(Qx,[e.tenantId,e.runId,n,o,a??null,i,i===null?null:q(i),i===null?0:Buffer.byteLength(i)]);if(d!==void 0&&g(d).number("journal_bytes")>wt)return}}s(ra,"closeArms");async function Ze(t,e,n){let r=await na(t,e),[o]=r;if(o===void 0)return null;let[i]=await t.run(Xx,[e.tenantId,e.runId,o.armId,n]);if(i===void 0)return null;let a=g(i);await ra(t,e,a.number("parked_seq"),r);let{tenantId:d,runId:u}=e;return{tenantId:d,runId:u,enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}}s(Ze,"resumeIfClosed");async function oa(t,e,n,r){return t.transaction("runs.resume",async o=>{if((await O(o,[e])).size===0)return null;let i=await Ze(o,e,n);return i!==null&&r!==void 0&&await le(o,e,{...r,after:Qt(i)}),i})}s(oa,"resumeRun");function Qt({enqueueSeq:t}){return`QUEUED, delivery ${t}`}s(Qt,"resumedAs");async function fc(t,e){let[n]=await t.run(Zx,[e]);if(n===void 0)return null;let r=g(n);return{tenantId:r.text("tenant_id"),runId:r.text("run_id"),open:r.boolean("open"),dueInSeconds:r.numberOrNull("due_in")}}s(fc,"readRunOfArm");async function pc(t,e){let n=await xe(t,eE,e);return be(n,e.limit,r=>{let o=g(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),armId:o.text("arm_id"),runStatus:o.text("status"),lateSeconds:o.number("late")}})}s(pc,"readDueArms");function mc(t){return JSON.parse(t).map(n=>({...n,at:new Date(n.at).toISOString()}))}s(mc,"dated");function tE(t){let e=g(t),n=e.textOrNull("consent_id"),r=e.textOrNull("attempt_id"),o=e.textOrNull("signals"),i=e.textOrNull("child_run_id");return{armId:e.text("arm_id"),owner:e.text("owner"),due:e.boolean("due"),retry:e.text("kind")==="step",...n===null?{}:{consent:{consentId:n,status:e.text("status"),closedBy:e.textOrNull("closed_by"),decisions:mc(e.textOrNull("decisions")??"[]")}},...r===null?{}:{attempt:{attemptId:r,status:e.text("attempt_status"),overdue:e.boolean("attempt_overdue"),report:e.textOrNull("report_text"),digest:e.textOrNull("report_digest")}},...i===null?{}:{child:{runId:i,status:e.text("child_status"),text:e.textOrNull("child_text"),digest:e.textOrNull("child_digest")}},...o===null?{}:{signals:mc(o)}}}s(tE,"factOf");var Re=Pe("attempt"),qo=["SUBMITTED","RUNNING"],gc=`t.tenant_id, t.run_id, t.attempt_id, t.status, t.service, t.adapter, t.adapter_version, t.service_digest,
  t.request_digest, t.idempotency_key, t.submissions, t.uncertain_reason, t.contradiction, t.cancel_reason, t.trouble, t.trouble_at, t.created_at,
  t.acknowledged_at, t.heartbeat_at, t.deadline_at, t.next_look_at, t.closed_at, t.closed_by, a.name, run.workflow_name`,sa=s(t=>`(${t}.remembers_seconds is null
    or coalesce(${t}.sends_from, ${t}.created_at) + ${t}.remembers_seconds * interval '1 second' > ghouls.clock())`,"remembered"),Sr=`${gc}, t.lookup, t.submit, t.cancel, t.delay_seconds, t.remembers_seconds, t.poll_seconds, t.heartbeat_seconds,
  t.stored_digest, t.token, t.looks, t.misses, t.unsent, t.report_digest, t.callback_digest,
  t.cancel_asked_at is not null as cancel_asked, t.callback_used_at is not null as callback_used,
  coalesce(t.callback_expires_at <= ghouls.clock(), false) as callback_expired,
  run.status as run_status, run.attention_at is not null as attended, a.closed_at is null as arm_open,
  a.closed_at is null and a.generation = run.generation and run.quarantined_at is null
    and run.status in (${I(at)}) as parked,
  coalesce(t.sends_until + t.delay_seconds * interval '1 second' < ghouls.clock(), false) as late,
  ${sa("t")} as remembered,
  coalesce(t.deadline_at <= ghouls.clock(), false) as overdue,
  coalesce(t.status in (${I(qo)})
    and t.heartbeat_at + t.heartbeat_seconds * interval '1 second' <= ghouls.clock(), false) as heart_lapsed`,ia="t.request_text, t.report_text",hc="null as request_text, null as report_text",$n=`from ghouls.attempts t
join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
join ghouls.runs run on run.tenant_id = t.tenant_id and run.run_id = t.run_id`,rE=_("attempts.read",`
select ${Sr}, ${ia}
${$n}
where t.tenant_id = $1 and t.attempt_id = $2`),oE=_("attempts.read-for-callback",`
select ${Sr}, ${ia}
${$n}
where t.attempt_id = $1`),sE=_("attempts.lock",`
select ${Sr}, ${ia}
${$n}
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
for update of t`),iE=Ne("attempts.due",{time:"t.next_look_at",id:"t.run_id",owner:"t.attempt_id",column:"attempt_id"},t=>`
select ${Sr}, ${hc}, ${K("t.next_look_at")}
${$n}
where t.status not in (${I(Re)}) and ${t}`),aE=_("attempts.defined-of-run",`
select ${Sr}, ${hc}
${$n}
where t.tenant_id = $1 and t.run_id = $2 and t.status = 'DEFINED'
order by t.created_at, t.attempt_id`),dE=_("attempts.page",`
select ${gc}, ${K("t.created_at")}
${$n}
where t.tenant_id = $1 and ($3::uuid is null or t.run_id = $3) and ($4::text is null or t.status = $4)
  and ${Yt("t.created_at","t.attempt_id",5)}
order by t.created_at desc, t.attempt_id desc
limit $2`);async function _c(t,e){let[n]=await t.run(rE,[e.tenantId,e.attemptId]);return n===void 0?null:Ar(n)}s(_c,"readAttempt");async function yc(t,e){let[n]=await t.run(oE,[e]);return n===void 0?null:Ar(n)}s(yc,"readAttemptForCallback");async function aa(t,e){let[n]=await t.run(sE,[e.tenantId,e.runId,e.attemptId]);return n===void 0?null:Ar(n)}s(aa,"lockAttempt");async function wc(t,e){let n=await xe(t,iE,e);return be(n,e.limit,Ar)}s(wc,"readDueAttempts");async function bc(t,e){return(await t.run(aE,[e.tenantId,e.runId])).map(Ar)}s(bc,"readDefinedAttempts");async function kc(t,e,n,r){let o=await t.run(dE,No(e,n,r)),{shown:i,next:a}=Rn(o,r.limit,"attempt_id",xc);return{attempts:i,next:a}}s(kc,"readAttemptPage");function xc(t){let e=g(t),n=e.dateOrNull("trouble_at");return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),attemptId:e.text("attempt_id"),status:e.text("status"),name:e.text("name"),workflow:e.text("workflow_name"),service:e.text("service"),adapter:e.text("adapter"),adapterVersion:e.text("adapter_version"),serviceDigest:e.text("service_digest"),requestDigest:e.text("request_digest"),idempotencyKey:e.text("idempotency_key"),submissions:e.number("submissions"),uncertainReason:e.textOrNull("uncertain_reason"),contradiction:e.textOrNull("contradiction"),cancelReason:e.textOrNull("cancel_reason"),trouble:n===null?null:{why:e.text("trouble"),at:n},createdAt:e.date("created_at"),acknowledgedAt:e.dateOrNull("acknowledged_at"),heartbeatAt:e.dateOrNull("heartbeat_at"),deadlineAt:e.dateOrNull("deadline_at"),nextLookAt:e.dateOrNull("next_look_at"),closedAt:e.dateOrNull("closed_at"),closedBy:e.textOrNull("closed_by")}}s(xc,"listedOf");function Ar(t){let e=g(t),n=e.numberOrNull("remembers_seconds");return{...xc(t),traits:{lookup:e.text("lookup"),submit:e.text("submit"),cancel:e.text("cancel"),delaySeconds:e.number("delay_seconds"),...n===null?{}:{remembersSeconds:n}},pollSeconds:e.numberOrNull("poll_seconds"),heartbeatSeconds:e.numberOrNull("heartbeat_seconds"),requestText:e.textOrNull("request_text")??"",storedDigest:e.text("stored_digest"),token:e.textOrNull("token"),looks:e.number("looks"),misses:e.number("misses"),unsent:e.boolean("unsent"),reportText:e.textOrNull("report_text"),reportDigest:e.textOrNull("report_digest"),callbackDigest:e.textOrNull("callback_digest"),callbackExpired:e.boolean("callback_expired"),callbackUsed:e.boolean("callback_used"),cancelAsked:e.boolean("cancel_asked"),runStatus:e.text("run_status"),attended:e.boolean("attended"),parked:e.boolean("parked"),armOpen:e.boolean("arm_open"),late:e.boolean("late"),remembered:e.boolean("remembered"),overdue:e.boolean("overdue"),heartLapsed:e.boolean("heart_lapsed")}}s(Ar,"attemptOf");var lE=y("attempts.calm",`
with asks as materialized (
  (select format($4::text, a.name, t.service, coalesce(t.uncertain_reason, t.trouble)) as reason, 1 as rank
  from ghouls.attempts t
  join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
  where t.tenant_id = $1 and t.run_id = $2
    and (t.status = 'UNCERTAIN' or t.status not in (${I(Re)}) and t.misses >= $6)
  order by t.created_at, t.attempt_id
  limit 1)
  union all
  (select format($5::text, a.name, t.service, t.contradiction), 2
  from ghouls.attempts t
  join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
  where t.tenant_id = $1 and t.run_id = $2 and t.contradiction is not null
  order by t.created_at, t.attempt_id
  limit 1)
), reason as (
  select (select left(asks.reason, 1000) from asks order by asks.rank limit 1) as reason
)
update ghouls.runs run
set attention_reason = reason.reason,
  attention_at = case when reason.reason is not null then coalesce(run.attention_at, ghouls.clock()) end
from reason
where run.tenant_id = $1 and run.run_id = $2 and starts_with(run.attention_reason, $3)
returning run.run_id`);async function Ec(t,e,n){await Do(t,e,ie("attempt_uncertain",n))}s(Ec,"askAboutJob");async function On(t,{tenantId:e,runId:n}){await t.run(lE,[e,n,ie("attempt_uncertain","").trimEnd(),ie("attempt_uncertain",'nobody knows of the job "%s" at %s: %s'),ie("attempt_contradicted",'of the job "%s" at %s: %s'),3])}s(On,"calmIfKnown");function vc(t){return ie("attempt_contradicted",t)}s(vc,"contradicted");var cE=y("audit.record",`
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function Ee(t,e,n){await t.run(cE,[e.tenantId,e.runId,n.actor,n.act,n.subject,n.reason])}s(Ee,"recordAudit");var mE=y("deliveries.yield",`
with ${Z(ee)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $10, settled_at = ghouls.clock()
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
  checkpoint.generation, greatest(moved.settled_at, $11::timestamptz),
  case when $11::timestamptz is null then moved.settled_at + $9::double precision * interval '1 second'
    else greatest(moved.settled_at, $11::timestamptz) end,
  moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),fE=y("deliveries.give-back",`
with ${Z(ee)}, settled as (
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
returning seq, queue`),pE=y("deliveries.due-now",`
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
returning d.seq`),gE=y("runs.clear-absence",`
with ${Z(ee)}
update ghouls.runs run
set workflow_absent_since = null
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id
returning run.run_id`),hE=y("runs.adopt",`
with ${Z(ee)}, moved as (
  update ghouls.runs run
  set workflow_version = $6, workflow_digest = $7, workflow_absent_since = null,
    generation = run.generation + case when $8::boolean then 1 else 0 end
  from held
  where run.tenant_id = held.tenant_id and run.run_id = held.run_id and held.journal_length = $9
    and run.workflow_digest = any($5::text[])
  returning run.tenant_id, run.run_id, run.generation, held.seq
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $7, $9, $10, ghouls.clock()
  from moved
  where $8::boolean
  returning tenant_id, run_id, seq, generation
), carried as (
  update ghouls.deliveries d
  set checkpoint_generation = checkpoint.generation
  from checkpoint
  where d.tenant_id = checkpoint.tenant_id and d.run_id = checkpoint.run_id and d.seq = checkpoint.seq
  returning d.seq
)
select moved.run_id, carried.seq from moved left join carried on true`),_E=_("deliveries.handed-over",`
select next.seq, next.queue
from ghouls.deliveries d
join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED' and d.outcome = $5`),yE=_("checkpoints.read",`
select c.generation, c.workflow_digest, c.journal_length, c.journal_digest
from ghouls.checkpoints c
where c.tenant_id = $1 and c.run_id = $2 and c.generation = $3`);async function To(t,e,n,{idle:r,publisherGraceSeconds:o,dueAt:i}){let{workflowDigest:a,journalLength:d,journalDigest:u}=n,l=i===void 0?"continued":"given_back",[c]=await t.run(mE,[...Rr(e),a,d,u,r,o,l,i??null]);return c===void 0?Lo(t,e,l):Ot(c)}s(To,"yieldDeliveryIfClaimed");async function Ic(t,e,n,r=!1){let[o]=await t.run(fE,[...Rr(e),n,r]);return o===void 0?Lo(t,e,"given_back"):Ot(o)}s(Ic,"giveDeliveryBackIfClaimed");async function Sc(t,e){return(await t.run(gE,Rr(e))).length===1}s(Sc,"clearAbsenceIfClaimed");async function Ac(t,e,n,{journalLength:r,journalDigest:o}){return(await t.run(hE,[...Rr(e),[e.workflow.digest,n.digest],n.version,n.digest,e.checkpointGeneration!==null,r,o])).length===1}s(Ac,"adoptIfClaimed");async function Rc(t,e,n){let[r]=await t.run(yE,[e.tenantId,e.runId,n]);if(r===void 0)return null;let o=g(r);return{workflowDigest:o.text("workflow_digest"),journalLength:o.number("journal_length"),journalDigest:o.text("journal_digest")}}s(Rc,"readCheckpoint");async function Lo(t,e,n){let[r]=await t.run(_E,[...Rr(e),n]);return r===void 0?null:Ot(r)}s(Lo,"handedOver");function Ot(t){return{enqueueSeq:g(t).number("seq"),queue:g(t).text("queue")}}s(Ot,"nextOf");function Rr(t){return[t.tenantId,t.runId,t.seq,t.token]}s(Rr,"keyOf");async function Mo(t,e){await t.run(pE,[e.tenantId,e.runId])}s(Mo,"makeGivenBackDue");var bE=y("items.acknowledge",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
    and ($7::uuid is null or i.token = $7)
    and not exists (
      select from ghouls.attempts t
      where i.kind = 'attempt' and t.tenant_id = i.tenant_id and t.run_id = i.run_id and t.call_key = i.key
        and t.status not in (${I(Re)}) and t.sends_until > ghouls.clock())
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $5, acknowledgement = $6
  from item
  where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
  returning i.tenant_id, i.run_id, i.kind, i.key
), known as (
  update ghouls.intents i
  set outcome = coalesce($8, 'resolved'), outcome_at = ghouls.clock()
  from acknowledged a
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${it} = a.key
  returning i.run_id
), job as (
  update ghouls.attempts t
  set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = $5, next_look_at = null, uncertain_reason = null
  from acknowledged a
  where a.kind = 'attempt' and t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.call_key = a.key
    and t.status not in (${I(Re)})
  returning t.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1, contain_from = case when $5 in ('operator', 'probe', 'undo') then ghouls.clock() else run.contain_from end
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
  and (select count(*) from job) >= 0
returning run.open_items`),kE=_("deliveries.holds",`
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`),xE=y("deliveries.over-now",`
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`);async function da(t,e,n,r){return t.transaction("items.acknowledge",async o=>{await O(o,[e]);let{kind:i,key:a,by:d,words:u,token:l,under:c,effect:m}=n;if(c!==void 0&&(await o.run(kE,[c.tenantId,c.runId,c.seq,c.token])).length===0)return null;let[f]=await o.run(bE,[e.tenantId,e.runId,i,a,d,u,l??null,m??null]);if(f===void 0)return null;if(i==="worker"&&await Mo(o,e),i==="attempt"&&await On(o,e),r!==void 0){let p=`${i} ${a}`;await Ee(o,e,{...r,act:"resolve",subject:p})}return{openItems:g(f).number("open_items"),ended:await ke(o,e)}})}s(da,"acknowledgeItem");async function $c(t,e){let n=await da(t,e,{kind:"worker",key:String(e.seq),by:"worker",words:"its worker ended the hop: no step is in flight",token:e.token});return n!==null?n:(await t.run(xE,[e.tenantId,e.runId,e.seq,e.token]),null)}s($c,"acknowledgeWorker");var Dc=`(case when $11::double precision is null then t.sends_until
    else least(t.sends_until, ghouls.clock() + $11 * interval '1 second') end)`,Oc=`${Dc} + (t.delay_seconds + 1) * interval '1 second'`,vE=y("attempts.change",`
update ghouls.attempts t
set status = $4,
  report_text = $5, report_digest = $6, uncertain_reason = $7,
  acknowledged_at = case when $8::boolean then coalesce(t.acknowledged_at, ghouls.clock()) else t.acknowledged_at end,
  heartbeat_at = case when $8::boolean then ghouls.clock() else t.heartbeat_at end,
  looks = case when $16::boolean then t.looks when t.status = $4 then t.looks + 1 else 0 end,
  misses = case when $16::boolean then t.misses when $10::boolean then t.misses + 1 else 0 end,
  trouble = case when $10::boolean then coalesce($14, t.trouble) else t.trouble end,
  trouble_at = case when $10::boolean and coalesce($14, t.trouble) is not null then ghouls.clock() else t.trouble_at end,
  unsent = $15::boolean,
  sends_until = ${Dc},
  callback_used_at = case when $12::boolean then ghouls.clock() else t.callback_used_at end,
  closed_at = case when $4 in (${I(Re)}) then ghouls.clock() end,
  closed_by = case when $4 in (${I(Re)}) then $13 end,
  next_look_at = case when $16::boolean then t.next_look_at when $4 not in (${I(Re)}) then least(
    ghouls.clock() + $9::double precision * interval '1 second',
    case when $4 in (${I(qo)}) then
      case when $8::boolean then ghouls.clock() else t.heartbeat_at end + t.heartbeat_seconds * interval '1 second' end,
    case when t.deadline_at > ghouls.clock() then t.deadline_at end,
    case when ($4 not in (${I(qo)}) or t.cancel_asked_at is not null) and not $15::boolean
      and ${Oc} > ghouls.clock() then ${Oc} end) end
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
returning t.status`),Pc=y("attempts.cancel",`
update ghouls.attempts t
set cancel_asked_at = coalesce(t.cancel_asked_at, ghouls.clock()), cancel_reason = coalesce(t.cancel_reason, $4)
where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
returning t.status`),IE=y("attempts.close-item",`
with acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $4, acknowledgement = $5
  from ghouls.attempts t
  where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3
    and i.tenant_id = t.tenant_id and i.run_id = t.run_id and i.kind = 'attempt' and i.key = t.call_key
    and i.acknowledged_at is null
  returning i.tenant_id, i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged
where run.tenant_id = acknowledged.tenant_id and run.run_id = acknowledged.run_id
returning run.open_items`),SE=y("attempts.contradict",`
with kept as (
  update ghouls.attempts t
  set contradiction = $4
  where t.tenant_id = $1 and t.run_id = $2 and t.attempt_id = $3 and t.contradiction is null
  returning t.tenant_id, t.run_id
)
update ghouls.runs run
set attention_reason = $5, attention_at = ghouls.clock()
from kept
where run.tenant_id = kept.tenant_id and run.run_id = kept.run_id and run.attention_at is null
returning run.run_id`);async function Nc(t,e,n,r,o){return t.transaction("attempts.change",async i=>{await O(i,[e]);let a=await aa(i,e);if(a===null)return null;let d=n(a);if(d===void 0)return null;if(await AE(i,a,d),o!==void 0){let h=`attempt ${e.attemptId}`;await Ee(i,e,{...o,act:"resolve",subject:h})}let{status:u}=d,l=s(async h=>{r.repair!==void 0&&u!==a.status&&await le(i,e,{...r.repair,before:a.status,after:h})},"note");if(!Re.includes(u))return await l(u),{status:u,resumption:null,ended:null};let c=`its job is ${u}`;await i.run(IE,[...$r(e),d.by,c]);let m=await ke(i,e),f=m===null?await Ze(i,e,r.publisherGraceSeconds):null,p=m??(f===null?null:Qt(f));return await l(p===null?u:`${u}, run ${p}`),{status:u,resumption:f,ended:m}})}s(Nc,"changeAttempt");async function AE(t,e,n){let{status:r,report:o,by:i,acknowledged:a,missed:d,sentFor:u,usesCallback:l}=n,c=n.why===void 0?void 0:Cc(n.why),{overdue:m,armOpen:f,cancelAsked:p}=e;r==="CANCELLED"&&!p&&(m||!f)&&await t.run(Pc,[...$r(e),m&&f?"deadline":"ended"]),await t.run(vE,[...$r(e),r,o?.reportText??null,o?.reportDigest??null,r==="UNCERTAIN"?e.uncertainReason??c??"unknown":null,a,n.nextLookSeconds,d,u??null,l??!1,i,c??null,n.unsent??(e.unsent&&r===e.status&&!a),n.onlyAlive??!1]);let h=r==="UNCERTAIN"&&e.status!=="UNCERTAIN"?c??"unknown":n.attention;if(h!==void 0){let E=`nobody knows of the job "${e.name}" at ${e.service}: ${Cc(h)}`;await Ec(t,e,E)}r!=="UNCERTAIN"&&(a||r!==e.status)&&e.attended&&await On(t,e)}s(AE,"write");async function qc(t,e,n,r){return t.transaction("attempts.cancel",async o=>{await O(o,[e]);let i=await aa(o,e);if(i===null||i.status!==e.status||i.token!==e.token)return!1;let a=(await o.run(Pc,[...$r(e),n])).length===1;return a&&r!==void 0&&!i.cancelAsked&&await le(o,e,{...r,after:`${i.status}, cancel asked`}),a})}s(qc,"askToCancel");async function Tc(t,e,n){await t.transaction("attempts.contradict",async r=>{await O(r,[e]);let o=vc(`of the job "${e.name}" at ${e.service}: ${n}`);await r.run(SE,[...$r(e),n.slice(0,1e3),o])})}s(Tc,"keepContradiction");var RE=1e3;function Cc(t){return t.slice(0,RE).replaceAll("\0","\uFFFD").toWellFormed()}s(Cc,"kept");function $r({tenantId:t,runId:e,attemptId:n}){return[t,e,n]}s($r,"keyOf");var OE=["DEFINED","SUBMITTING","UNCERTAIN"],CE=y("attempts.claim-submission",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), held as materialized (
  select t.tenant_id, t.run_id, t.attempt_id, t.arm_id, t.status, t.token, t.deadline_at, t.cancel_asked_at, t.acknowledged_at,
    t.unsent, t.remembers_seconds, t.sends_from, t.created_at, r.status as run_status, r.generation, r.quarantined_at
  from r
  join ghouls.attempts t on t.tenant_id = r.tenant_id and t.run_id = r.run_id and t.attempt_id = $3
  for update of t
)
update ghouls.attempts t
set status = 'SUBMITTING', token = $6, submitter = $7, submissions = t.submissions + case when t.unsent then 0 else 1 end,
  sends_from = ghouls.clock(), sends_until = ghouls.clock() + $8::double precision * interval '1 second',
  callback_digest = $9, callback_used_at = null,
  callback_expires_at = case when $9::text is not null then t.deadline_at + $10::double precision * interval '1 second' end,
  next_look_at = ghouls.clock() + $11::double precision * interval '1 second', looks = case when t.unsent then t.looks else 0 end,
  misses = case when t.unsent then t.misses else 0 end, unsent = false, uncertain_reason = null
from held
join ghouls.arms a on a.tenant_id = held.tenant_id and a.run_id = held.run_id and a.arm_id = held.arm_id
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.attempt_id = held.attempt_id
  and held.status = $4 and held.token is not distinct from $5::uuid
  and held.status in (${I(OE)})
  and held.acknowledged_at is null and held.cancel_asked_at is null
  and (held.token is null or held.unsent or ${sa("held")})
  and (held.deadline_at is null or held.deadline_at > ghouls.clock())
  and held.run_status in (${I(at)}) and held.quarantined_at is null
  and a.closed_at is null and a.generation = held.generation
returning t.attempt_id`),DE=y("attempts.submitter-ended",`
with left_behind as materialized (
  select t.tenant_id, t.run_id, t.attempt_id
  from ghouls.attempts t
  where t.submitter = $1 and t.status = 'SUBMITTING'
  order by t.tenant_id, t.run_id, t.attempt_id
  for update skip locked
)
update ghouls.attempts t
set sends_until = least(t.sends_until, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(t.next_look_at, ghouls.clock())
from left_behind
where t.tenant_id = left_behind.tenant_id and t.run_id = left_behind.run_id and t.attempt_id = left_behind.attempt_id
returning t.attempt_id`);async function Lc(t,e,n){return t.transaction("attempts.claim-submission",async r=>(await O(r,[e]),(await r.run(CE,[e.tenantId,e.runId,e.attemptId,e.status,e.token,n.token,n.submitter,n.sendsForSeconds,n.callbackDigest,n.callbackSeconds,n.nextLookSeconds])).length===0?!1:(await On(r,e),n.repair!==void 0&&await le(r,e,{...n.repair,after:"SUBMITTING"}),!0)))}s(Lc,"claimSubmission");async function Mc(t,e,n){await t.run(DE,[e,n])}s(Mc,"recordSubmitterEnd");var Cn={tenant:"coalesce(p.tenant_id, '')",workflow:"coalesce(p.workflow, '')"},jc=s(t=>`exists (
        select from ghouls.pauses p
        where p.lifted_at is null and ${Cn.tenant} = any(array[${t}.tenant_id, ''])
          and ${Cn.workflow} = any(array[${t}.workflow_name, '']))`,"isHeld"),Ct=s(t=>`(${t}.paused_at is not null or ${jc(t)})`,"isPaused"),Dn=s(t=>`${t}.paused_at is null and not ${jc(t)}`,"notPaused");var NE=y("deliveries.beat",`
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
returning d.run_id, d.seq, d.cause <> 'contain' and exists (
    select from ghouls.runs run
    where run.tenant_id = d.tenant_id and run.run_id = d.run_id and ${Ct("run")}) as paused`),qE=y("deliveries.beat-of-worker",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $2::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id`);async function zc(t,e,n){return(await t.run(qE,[e,n])).length}s(zc,"beatOfWorker");async function Fc(t,e,n){let r=await t.run(NE,[e.map(o=>o.tenantId),e.map(o=>o.runId),e.map(o=>o.seq),e.map(o=>o.token),n]);return new Map(r.map(o=>{let i=g(o);return[`${i.text("run_id")}:${i.number("seq")}`,{paused:i.boolean("paused")}]}))}s(Fc,"beatIfClaimed");function jo(t){return`open as materialized (
  select d.tenant_id, d.run_id, d.seq, d.status, d.token, d.claimed_by,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + ${t}::double precision * interval '1 second') end as over_at
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
  select i.tenant_id, i.run_id, 'effect', ${it}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.outcome is null
  join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
)`}s(jo,"takenAway");var LE=y("runs.cancel",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(Ge)})
  for update
), ${jo("$5")}
update ghouls.runs run
set status = 'CANCELLING', cancelled_by = $3, cancel_reason = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function ua(t,e,n,r,o){return t.transaction("runs.cancel",async i=>{let a=(await O(i,[e])).get(e.runId);if(a===void 0)return null;let[d]=await i.run(LE,[e.tenantId,e.runId,n.actor,n.reason,r]);if(d===void 0)return{cancelled:!1,status:a};let u=await ke(i,e)??g(d).text("status");return o!==void 0&&await le(i,e,{...o,after:u}),{cancelled:!0,status:u}})}s(ua,"cancelRun");var Gc=s(t=>`least(3600, 30 * power(2, least(${t}, 10))) * interval '1 second'`,"BACK_OFF"),jE=y("degraded.add",`
insert into ghouls.degraded_owners (pass, owner, tenant_id, run_id, page_id, degraded_at, next_turn_at, reason)
select $1, q.owner, q.tenant_id, q.run_id, $2::uuid, ghouls.clock(), ghouls.clock() + ${Gc("0")}, q.reason
from unnest($3::text[], $4::text[], $5::uuid[], $6::text[]) as q(owner, tenant_id, run_id, reason)
order by q.owner
on conflict (pass, owner) do nothing`),zE=_("degraded.among","select g.owner from ghouls.degraded_owners g where g.pass = $1 and g.owner = any($2::text[])"),FE=y("degraded.take-turns",`
with turn as materialized (
  select g.pass, g.owner
  from ghouls.degraded_owners g
  where g.pass = $1 and g.next_turn_at <= ghouls.clock()
  order by g.next_turn_at, g.owner
  limit $2
  for update skip locked
)
update ghouls.degraded_owners g
set tries = g.tries + 1, next_turn_at = ghouls.clock() + ${Gc("g.tries")}
from turn
where g.pass = turn.pass and g.owner = turn.owner
returning g.owner, g.tries`),GE=y("degraded.clean",`
with clean as materialized (
  select g.pass, g.owner
  from unnest($2::text[], $3::integer[]) as q(owner, tries)
  join ghouls.degraded_owners g on g.pass = $1 and g.owner = q.owner
  where g.tries = q.tries
  order by g.owner
  for update of g
)
delete from ghouls.degraded_owners g
using clean
where g.pass = clean.pass and g.owner = clean.owner
returning g.owner`),UE=y("degraded.note-reason",`
update ghouls.degraded_owners g
set reason = $4
where g.pass = $1 and g.owner = $2 and g.tries = $3
returning g.owner`),WE=y("degraded.make-due",`
with waiting as materialized (
  select g.pass, g.owner
  from ghouls.degraded_owners g
  where g.pass = any($1::text[]) and g.next_turn_at > ghouls.clock()
  order by g.pass, g.owner
  for update
)
update ghouls.degraded_owners g
set next_turn_at = ghouls.clock()
from waiting
where g.pass = waiting.pass and g.owner = waiting.owner
returning g.owner`);async function Uc(t,e,n,r){r.length!==0&&await t.run(jE,[e,n,r.map(({owner:o})=>o),r.map(({tenantId:o})=>o),r.map(({runId:o})=>o),r.map(({reason:o})=>Vc(o))])}s(Uc,"degradeOwners");async function Wc(t,e,n){return new Set((await t.run(zE,[e,n])).map(r=>g(r).text("owner")))}s(Wc,"degradedAmong");async function Bc(t,e,n){return(await t.run(FE,[e,n])).map(o=>({owner:g(o).text("owner"),tries:g(o).number("tries")}))}s(Bc,"takeDegradedTurns");async function Kc(t,e,n){n.length!==0&&await t.run(GE,[e,n.map(({owner:r})=>r),n.map(({tries:r})=>r)])}s(Kc,"cleanOwners");async function Hc(t,e,n,r){await t.run(UE,[e,n.owner,n.tries,Vc(r)])}s(Hc,"noteDegradedReason");async function Jc(t,e){return(await t.run(WE,[e])).length}s(Jc,"makeDegradedDue");function Vc(t){return t.slice(0,500).replaceAll("\0","\uFFFD").toWellFormed()}s(Vc,"keptReason");var KE=_("passes.all",`
select p.pass, p.round::text, p.round_until, p.cursor_owner, p.reconciler, p.started_at, p.ended_at, p.pages, p.found,
  p.repaired, p.failed, p.error
from ghouls.passes p
order by p.pass`),HE=_("degraded.page",`
select g.pass, g.owner, g.tenant_id, g.run_id, g.page_id, g.degraded_at, g.tries, g.next_turn_at, g.reason
from ghouls.degraded_owners g
where (g.pass, g.owner) > ($2::text, $3::text)
order by g.pass, g.owner
limit $1`),JE=_("degraded.pages",`
select g.pass, g.page_id, g.degraded_at, g.owners, g.tries, g.next_turn_at
from ghouls.degraded_pages g
order by g.degraded_at, g.page_id
limit $1`),Yc={micros:"100000000000000000",id:"ffffffff-ffff-ffff-ffff-ffffffffffff"},VE=_("repairs.page",`
select r.tenant_id, r.run_id, r.repair_id, r.pass, r.rule, r.before_state, r.after_state, r.at, ${K("r.at")}
from ghouls.repairs r
where (r.at, r.repair_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)
order by r.at desc, r.repair_id desc
limit $1`);async function Qc(t){return(await t.run(KE,[])).map(n=>{let r=g(n);return{pass:r.text("pass"),round:Number(r.text("round")),roundUntil:r.dateOrNull("round_until"),cursor:r.textOrNull("cursor_owner"),reconciler:r.textOrNull("reconciler"),startedAt:r.dateOrNull("started_at"),endedAt:r.dateOrNull("ended_at"),pages:r.number("pages"),found:r.number("found"),repaired:r.number("repaired"),failed:r.number("failed"),error:r.textOrNull("error")}})}s(Qc,"readPassStates");async function Xc(t,e,n){let r=await t.run(HE,[e+1,n?.pass??"",n?.owner??""]),o=r.slice(0,e).map(i=>{let a=g(i);return{pass:a.text("pass"),owner:a.text("owner"),tenantId:a.text("tenant_id"),runId:a.textOrNull("run_id"),pageId:a.text("page_id"),degradedAt:a.date("degraded_at"),tries:a.number("tries"),nextTurnAt:a.date("next_turn_at"),reason:a.text("reason")}});return{owners:o,next:r.length>e?o.at(-1):void 0}}s(Xc,"readDegradedOwners");async function Zc(t,e){return(await t.run(JE,[e])).map(r=>{let o=g(r);return{pass:o.text("pass"),pageId:o.text("page_id"),degradedAt:o.date("degraded_at"),owners:o.number("owners"),tries:o.number("tries"),nextTurnAt:o.date("next_turn_at")}})}s(Zc,"readDegradedPages");async function em(t,e,n){let r=await t.run(VE,[e+1,n?.micros??Yc.micros,n?.id??Yc.id]),{shown:o,next:i}=Rn(r,e,"repair_id",a=>{let d=g(a);return{repairId:d.text("repair_id"),tenantId:d.text("tenant_id"),runId:d.text("run_id"),pass:d.text("pass"),rule:d.text("rule"),before:d.text("before_state"),after:d.text("after_state"),at:d.date("at")}});return{repairs:o,next:i}}s(em,"readRepairs");var QE=_("passes.read",`
select q.pass, p.round::text, p.round_until, p.cursor_micros::text, p.cursor_owner,
  aside.next_turn_at is not null as degraded, coalesce(aside.next_turn_at <= ghouls.clock(), false) as degraded_due
from unnest($1::text[]) as q(pass)
left join ghouls.passes p on p.pass = q.pass
left join lateral (
  select g.next_turn_at from ghouls.degraded_owners g where g.pass = q.pass order by g.next_turn_at limit 1
) as aside on true`),XE=y("passes.begin-round",`
insert into ghouls.passes as p (pass, round, round_until)
select q.pass, 1, date_trunc('milliseconds', ghouls.clock()) + interval '1 millisecond'
from unnest(array[$1::text]) as q(pass)
where q.pass is not null
on conflict (pass) do update set
  round = p.round + case when p.round_until is null then 1 else 0 end,
  round_until = coalesce(p.round_until, excluded.round_until)
returning p.round::text, p.round_until`),ZE=y("passes.advance",`
update ghouls.passes p
set cursor_micros = $3::bigint, cursor_owner = $4
where p.pass = $1 and p.round = $2::bigint and p.round_until is not null
  and (p.cursor_owner is null or (p.cursor_micros, p.cursor_owner collate "C") < ($3::bigint, $4::text collate "C"))
returning p.round`),ev=y("passes.end-round",`
update ghouls.passes p
set round_until = null, cursor_micros = null, cursor_owner = null
where p.pass = $1 and p.round = $2::bigint
returning p.round`),tv=y("passes.note",`
insert into ghouls.passes as p (pass, round, reconciler, started_at, ended_at, pages, found, repaired, failed, error)
select q.pass, greatest(q.rounds, 1), $2, ghouls.clock() - q.started_before * interval '1 second',
  ghouls.clock() - q.ended_before * interval '1 second', q.pages, q.found, q.repaired, q.failed, q.error
from unnest($1::text[], $3::integer[], $4::double precision[], $5::double precision[], $6::integer[], $7::integer[],
    $8::integer[], $9::integer[], $10::text[])
  as q(pass, rounds, started_before, ended_before, pages, found, repaired, failed, error)
order by q.pass
on conflict (pass) do update set
  round = p.round + case when p.round_until is null then (
      select n.rounds from unnest($1::text[], $3::integer[]) as n(pass, rounds) where n.pass = p.pass) else 0 end,
  reconciler = excluded.reconciler, started_at = excluded.started_at, ended_at = excluded.ended_at, pages = excluded.pages,
  found = excluded.found, repaired = excluded.repaired, failed = excluded.failed, error = excluded.error
returning p.pass, (select count(*) from ghouls.degraded_owners g where g.pass = p.pass)::integer as degraded`);async function tm(t,e){let n=await t.run(QE,[e]);return new Map(n.map(r=>{let o=g(r),i=o.dateOrNull("round_until"),[a,d]=[o.textOrNull("cursor_micros"),o.textOrNull("cursor_owner")],u=a===null||d===null?void 0:{micros:a,runId:d},l=i===null?void 0:{number:o.text("round"),until:i,after:u};return[o.text("pass"),{round:l,degraded:o.boolean("degraded"),degradedDue:o.boolean("degraded_due")}]}))}s(tm,"readPasses");async function nm(t,e){let[n]=await t.run(XE,[e]);if(n===void 0)throw new TypeError("a round was not begun");return{number:g(n).text("round"),until:g(n).date("round_until")}}s(nm,"beginRound");async function rm(t,e,n,r){return(await t.run(ZE,[e,n,r.micros,r.runId])).length===1}s(rm,"advanceRound");async function om(t,e,n){await t.run(ev,[e,n])}s(om,"endRound");async function sm(t,e,n){let r=await t.run(tv,[n.map(({pass:o})=>o),e,n.map(({rounds:o})=>o),n.map(({startedBefore:o})=>o),n.map(({endedBefore:o})=>o),n.map(({pages:o})=>o),n.map(o=>o.found),n.map(({repaired:o})=>o),n.map(({failed:o})=>o),n.map(({error:o})=>o?.slice(0,500)??null)]);return new Map(r.map(o=>[g(o).text("pass"),g(o).number("degraded")]))}s(sm,"notePasses");var rv=y("evidence.copy-steps",`
with copy as materialized (
  select q.*
  from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::integer[], $6::text[], $7::text[], $8::integer[],
    $9::timestamptz[], $10::timestamptz[], $11::text[], $12::text[], $13::integer[])
    as q(tenant_id, run_id, seq, token, ordinal, call, outcome, tries, started_at, completed_at, body_text, body_digest, number)
)
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at,
  ordinal, tries, started_at, completed_at, number)
select d.tenant_id, d.run_id, gen_random_uuid(), 'durable_best_effort', d.seq, d.token, copy.call, copy.outcome,
  case when run.steps_emptied_at is null then copy.body_text end, copy.body_digest, ghouls.clock(),
  copy.ordinal, copy.tries, copy.started_at, copy.completed_at, copy.number
from copy
join ghouls.deliveries d on d.tenant_id = copy.tenant_id and d.run_id = copy.run_id and d.seq = copy.seq and d.token = copy.token
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
order by d.tenant_id, d.run_id, copy.ordinal, copy.completed_at
on conflict (tenant_id, run_id, ordinal) where class = 'durable_best_effort' do nothing
returning ordinal`);async function im(t,e){return e.length===0?0:(await t.run(rv,[e.map(({claim:r})=>r.tenantId),e.map(({claim:r})=>r.runId),e.map(({claim:r})=>r.seq),e.map(({claim:r})=>r.token),e.map(({ordinal:r})=>r),e.map(({call:r})=>r),e.map(({outcome:r})=>r),e.map(({tries:r})=>r),e.map(({startedAt:r})=>r.toISOString()),e.map(({completedAt:r})=>r.toISOString()),e.map(({bodyText:r})=>r),e.map(({bodyDigest:r})=>r),e.map(({number:r})=>r??null)])).length}s(im,"copySteps");var am=s((t,e)=>`(
  select run.tenant_id, run.run_id, '${t}' as kind, '${t} ' || run.run_id::text as owner, run.finished_at as due_at
  from ghouls.runs run
  where run.finished_at is not null and run.${t}_emptied_at is null
    and run.finished_at <= ghouls.clock() - $${e}::double precision * interval '1 millisecond'
    and ${Vt("run.finished_at",`'${t} ' || run.run_id::text`)}
  order by run.finished_at, run.run_id
  limit $1)`,"endedWith"),sv=_("retention.due",`
select due.tenant_id, due.run_id, due.kind, due.owner, ${K("due.due_at")},
  due.run_id is null or ghouls.may_be_emptied(due.tenant_id, due.run_id) as may_be
from (
  select due.*
  from (
    ${am("bodies",5)}
    union all
    ${am("steps",6)}
    union all
    (select old.tenant_id, null::uuid, 'repairs', 'repairs ' || old.tenant_id, min(old.at)
    from (
      select repair.tenant_id, repair.at
      from ghouls.repairs repair
      where repair.at <= ghouls.clock() - $7::double precision * interval '1 millisecond'
      order by repair.at
      limit 1000) as old
    group by old.tenant_id
    having ${Vt("min(old.at)","'repairs ' || old.tenant_id")})
  ) as due
  order by due.due_at, due.owner collate "C"
  limit $1
) as due
order by due.due_at, due.owner collate "C"`),iv=_("retention.due-of",`
select run.tenant_id, run.run_id, q.kind, q.kind || ' ' || run.run_id::text as owner, ${K("run.finished_at")},
  ghouls.may_be_emptied(run.tenant_id, run.run_id) as may_be
from unnest($1::uuid[], $2::text[]) as q(run_id, kind)
join ghouls.runs run on run.run_id = q.run_id
where case q.kind when 'bodies' then run.bodies_emptied_at is null
    and run.finished_at <= ghouls.clock() - $3::double precision * interval '1 millisecond'
  else run.steps_emptied_at is null
    and run.finished_at <= ghouls.clock() - $4::double precision * interval '1 millisecond' end
order by run.finished_at, q.kind, run.run_id`),av=y("retention.empty-bodies",`
select ghouls.empty_bodies(run.tenant_id, run.run_id, $3) as emptied
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),dv=y("retention.empty-steps",`
select ghouls.empty_steps(run.tenant_id, run.run_id, $3) as emptied
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),uv=y("repairs.forget",`
with old as materialized (
  select repair.tenant_id, repair.run_id, repair.repair_id
  from ghouls.repairs repair
  where repair.tenant_id = $1 and repair.at <= ghouls.clock() - $3::double precision * interval '1 millisecond'
  order by repair.at
  limit $2
)
delete from ghouls.repairs repair
using old
where repair.tenant_id = old.tenant_id and repair.run_id = old.run_id and repair.repair_id = old.repair_id
returning repair.repair_id`);async function um(t,e,n){let{bodiesMs:r,stepsMs:o,repairsMs:i}=e,a=n.owners?.map(m=>m.split(" ",2)),d=a===void 0?await t.run(sv,[...kn(n),r,o,i]):await t.run(iv,lv(a,r,o)),u=xn(d,n.limit,cv),c=(n.owners?.filter(m=>m.startsWith(dm))??[]).map(m=>({kind:"repairs",tenantId:m.slice(dm.length),runId:null,owner:m}));return a===void 0?u:{found:[...u.found,...c],next:void 0}}s(um,"readDueRetention");var dm="repairs ";function lv(t,e,n){let r=t.filter(([o])=>o!=="repairs");return[r.map(([,o])=>o),r.map(([o])=>o),e,n]}s(lv,"ofRuns");function cv(t){let e=g(t);if(e.boolean("may_be"))return{kind:e.text("kind"),tenantId:e.text("tenant_id"),runId:e.textOrNull("run_id"),owner:e.text("owner")}}s(cv,"dueOf");async function lm(t,{kind:e,tenantId:n,runId:r},o,i){if(e==="repairs")return(await t.run(uv,[n,o,i.repairsMs])).length;let a=e==="bodies"?av:dv,[d]=await t.run(a,[n,r,o]);return d===void 0?null:g(d).numberOrNull("emptied")}s(lm,"emptyOne");var fv=_("evidence.verify-runs",`
select run.tenant_id, run.run_id, run.finished_at is not null as is_ended, exists (
    select from ghouls.end_acts e
    where e.tenant_id = run.tenant_id and e.run_id = run.run_id and e.act in ('seal', 'doubt')) as unsealed
from ghouls.runs run
where (run.tenant_id, run.run_id) > ($1, $2::uuid)
order by run.tenant_id, run.run_id
limit $3`),pv=_("evidence.tenant-after","select run.tenant_id from ghouls.runs run where run.tenant_id > $1 order by run.tenant_id limit 1"),gv=_("seals.count",`
select (
    select count(*) from ghouls.runs run
    where run.tenant_id = $1 and run.status in ('DONE', 'FAILED', 'CANCELLED')) - (
    select count(*) from ghouls.end_acts e
    where e.tenant_id = $1 and e.act in ('seal', 'doubt')) as sealed, (
    select coalesce(sum(s.records), 0) from ghouls.seals s where s.tenant_id = $1) as members`),cm=200;async function mm(t,e){let n=new Map,r=s(async d=>{let u=JSON.stringify([d.check,d.tenantId,d.subject]);if(n.has(u))return;n.set(u,d);let{check:l,tenantId:c,runId:m,detail:f}=d;m!==null&&c!==null?await Eo(t,{tenantId:c,runId:m},f,e,l):await $t(t,[d])},"keep"),o=await fl(t),i=await hv(t,e,r);for await(let d of ml(t))await r(gm(d,e));await o.end();let a=0;for(let d=await kr(t,null);d!==null;d=await kr(t,d)){let u=await Io(t,d);if(u!==null){a+=1;for(let l of la(u,e))await r(l);await ca(t,u)}}for await(let d of _v(t)){let u=await yv(t,d,e);u!==void 0?await r(u):await En(t,vn,[{tenantId:d,subject:fm}])}return{...i,seals:a,faults:[...n.values()]}}s(mm,"verifyEvidence");async function hv(t,e,n){let[r,o,i]=[0,0,0],a=["","00000000-0000-0000-0000-000000000000"];for(;;){let d=await t.run(fv,[...a,cm]),u=new Map,l=d.flatMap(m=>{let f=g(m);a=[f.text("tenant_id"),f.text("run_id")];let[p,h]=a;return u.set(h,f.boolean("unsealed")),f.boolean("is_ended")?[{tenantId:p,runId:h}]:[]});for(let m of await cl(t,l))await n(gm(m,e));let c=[];for(let m of await vo(t,l)){let{tenantId:f,runId:p}=m,h=u.get(p)===!0;if(r+=1,m.missing||(o+=1),h&&(i+=1),m.fault===null&&h)c.push({tenantId:f,subject:p});else{if(m.fault===null)continue;(!m.missing||!h)&&await n(pm(m,m.fault,e))}}if(await En(t,xt,c),d.length<cm)return{runs:r,records:o,pending:i}}}s(hv,"walkRuns");async function*_v(t){for(let e="";;){let[n]=await t.run(pv,[e]);if(n===void 0)return;e=g(n).text("tenant_id"),yield e}}s(_v,"tenants");var fm="all seals";async function yv(t,e,n){let[r]=await t.run(gv,[e]),o=g(r??{}),[i,a]=[o.number("sealed"),o.number("members")];if(i===a)return;let d=`${i} ended runs are sealed, and the seals that are there have ${a} records`;return{check:vn,tenantId:e,runId:null,subject:fm,detail:d,foundBy:n}}s(yv,"missingSeals");function la(t,e){let{tenantId:n,fault:r,members:o}=t,i=r===null?[]:[{check:vn,tenantId:n,runId:null,subject:hm(t).subject,detail:r,foundBy:e}],a=o.flatMap(d=>d.fault===null?[]:[pm(d,d.fault,e)]);return[...i,...a]}s(la,"faultsOf");function pm({tenantId:t,runId:e},n,r){return{check:xt,tenantId:t,runId:e,subject:e,detail:n,foundBy:r}}s(pm,"faultOf");function gm({tenantId:t,runId:e,detail:n},r){return{check:wr,tenantId:t,runId:e,subject:e,detail:n,foundBy:r}}s(gm,"bodyFaultOf");async function ca(t,e){let{tenantId:n,fault:r,members:o}=e,i=o.flatMap(a=>a.fault===null?[{tenantId:n,subject:a.runId}]:[]);await En(t,xt,i),r===null&&await En(t,vn,[hm(e)])}s(ca,"goodAgain");function hm({tenantId:t,number:e}){return{tenantId:t,subject:`seal ${e}`}}s(hm,"subjectOf");async function _m(t){let e=await _l(t);if(e===void 0)return{seal:null,faults:[]};let n=await kr(t,e),r=n===null?null:await Io(t,n),o=r===null?[]:la(r,"evidence");for(let i of o){let{tenantId:a,runId:d,detail:u}=i;d!==null&&a!==null?await Eo(t,{tenantId:a,runId:d},u,i.foundBy):await $t(t,[i])}return r!==null&&await ca(t,r),await yl(t,e,n),{seal:n,faults:o}}s(_m,"checkNextSeal");var zo=s((t,e)=>`case
    when ${t}.status <> 'FENCED' then null
    when ${t}.cause = 'contain' then 'ended'
    when ${e}.cancelled_by is not null then 'cancelled'
    else coalesce(${e}.error_code, 'ended')
  end`,"fencedWhy");var kv=16384,xv=2097152,Ev=100,vv=500,Iv=_("evidence.terminal",`
select record.record_digest, record.written_at, octet_length(record.record_text) as bytes,
  case when octet_length(record.record_text) <= $3 then record.record_text end as record_text,
  ghouls.text_digest(record.record_text) = record.record_digest
    and coalesce(record.record_text = ghouls.terminal_text(record.tenant_id, record.run_id), false) as agrees,
  sealed.number, sealed.sealed_at, sealed.digest
from ghouls.terminal_records record
left join lateral (
  select s.number, s.sealed_at, s.digest
  from (
    select s.number, s.sealed_at, s.digest, s.members_text
    from ghouls.seals s
    where s.tenant_id = $1 and s.sealed_at >= record.written_at
    order by s.sealed_at
    limit $4
  ) as s
  where strpos(s.members_text, ' ' || record.run_id::text || ' ') > 0
  order by s.number
  limit 1
) as sealed on true
where record.tenant_id = $1 and record.run_id = $2`),ym=`e.body_digest, octet_length(e.body_text) as body_bytes,
  case when octet_length(e.body_text) <= ${kv} then e.body_text end as body_text`,Sv=_("evidence.rejected",`
select e.seq, e.call, e.outcome, e.recorded_at, d.claimed_by, ${ym},
  coalesce(${zo("d","run")}, d.outcome, 'its claim was given up') as reason
from ghouls.evidence e
join ghouls.runs run on run.tenant_id = e.tenant_id and run.run_id = e.run_id
join ghouls.deliveries d on d.tenant_id = e.tenant_id and d.run_id = e.run_id and d.seq = e.seq
where e.tenant_id = $1 and e.run_id = $2 and e.class = 'rejected'
order by e.recorded_at desc, e.evidence_id
limit $3`),Av=_("evidence.copies",`
select e.evidence_id, e.seq, e.call, e.outcome, e.ordinal, e.tries, e.started_at, e.completed_at, ${ym},
  ${K("e.completed_at")}
from ghouls.evidence e
where e.tenant_id = $1 and e.run_id = $2 and e.class = 'durable_best_effort'
  and (e.completed_at, e.evidence_id) > (timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4::uuid)
order by e.completed_at, e.evidence_id
limit $5`);async function wm(t,{tenantId:e,runId:n}){let[r]=await t.run(Iv,[e,n,xv,vv]);if(r===void 0)return null;let o=g(r),i=o.dateOrNull("sealed_at");return{digest:o.text("record_digest"),writtenAt:o.date("written_at"),bytes:o.number("bytes"),text:o.textOrNull("record_text"),agrees:o.boolean("agrees"),seal:i===null?null:{number:o.number("number"),sealedAt:i,digest:o.text("digest")}}}s(wm,"readTerminalRecord");async function bm(t,{tenantId:e,runId:n}){return(await t.run(Sv,[e,n,Ev])).map(o=>{let i=g(o);return{seq:i.number("seq"),call:i.text("call"),outcome:i.text("outcome"),at:i.date("recorded_at"),worker:i.textOrNull("claimed_by"),reason:i.text("reason"),body:xm(o)}})}s(bm,"readRejected");var Rv={micros:"0",id:"00000000-0000-0000-0000-000000000000"};async function km(t,{tenantId:e,runId:n},{limit:r,after:o=Rv}){let i=await t.run(Av,[e,n,o.micros,o.id,r+1]),a=i.slice(0,r),d=i.length>r?a.at(-1):void 0;return{copies:a.map(u=>{let l=g(u);return{seq:l.number("seq"),call:l.text("call"),outcome:l.text("outcome"),ordinal:l.numberOrNull("ordinal"),tries:l.number("tries"),startedAt:l.date("started_at"),completedAt:l.date("completed_at"),body:xm(u)}}),next:d&&{micros:g(d).text("micros"),id:g(d).text("evidence_id")}}}s(km,"readCopies");function xm(t){let e=g(t);return{digest:e.textOrNull("body_digest"),bytes:e.numberOrNull("body_bytes"),text:e.textOrNull("body_text")}}s(xm,"bodyOf");var Ov=y("evidence.reject",`
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at)
select d.tenant_id, d.run_id, gen_random_uuid(), 'rejected', d.seq, d.token, $5, $6,
  case when run.steps_emptied_at is null then $7::text end, $8, ghouls.clock()
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`);async function Em(t,e,n){let{call:r,outcome:o,bodyText:i,bodyDigest:a}=n;await t.run(Ov,[e.tenantId,e.runId,e.seq,e.token,r,o,i,a])}s(Em,"recordRejectedResult");function dt({epoch:t,scope:e,kind:n,name:r,nth:o}){return[t,e,n,r,o]}s(dt,"callValues");function ut(t){let e=g(t);return{epoch:e.number("epoch"),scope:e.text("scope"),kind:e.text("kind"),name:e.text("name"),nth:e.number("nth")}}s(ut,"callOf");var Dv=_("arms.of-run",`
select a.arm_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.owner, a.generation, a.seq, a.due_at, a.tries,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in, c.consent_id, t.attempt_id,
  t.status as attempt_status, t.deadline_at, child.run_id as child_run_id,
  coalesce(c.request_digest, t.request_digest, child.request_digest) as request_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by a.created_at, a.arm_id`),Pv=_("arms.retries",`
select a.epoch, a.scope, a.kind, a.name, a.nth, max(a.tries) as tries,
  max(a.due_at) filter (where a.closed_at is null) as due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.epoch = $3 and a.kind = 'step'
group by a.epoch, a.scope, a.kind, a.name, a.nth`);async function Or(t,e){return(await t.run(Dv,[e.tenantId,e.runId])).map(r=>{let o=g(r);return{armId:o.text("arm_id"),call:ut(r),owner:o.text("owner"),generation:o.number("generation"),seq:o.number("seq"),dueAt:o.dateOrNull("due_at")??o.dateOrNull("deadline_at"),dueInSeconds:o.numberOrNull("due_in"),tries:o.numberOrNull("tries"),consentId:o.textOrNull("consent_id"),attemptId:o.textOrNull("attempt_id"),attemptStatus:o.textOrNull("attempt_status"),childRunId:o.textOrNull("child_run_id"),requestDigest:o.textOrNull("request_digest")}})}s(Or,"readOpenArms");async function vm(t,e,n){return(await t.run(Pv,[e.tenantId,e.runId,n])).map(o=>{let i=g(o);return{call:ut(o),tries:i.number("tries"),dueAt:i.dateOrNull("due_at")}})}s(vm,"readRetries");var ma=`c.tenant_id, c.run_id, c.consent_id, c.status, c.title, c.request_digest,
  c.deciders, c.quorum, c.requester_may_decide, c.on_expiry, c.source, c.created_at, c.expires_at, c.closed_at, c.closed_by,
  run.workflow_name, run.requested_by`,fa=`${ma}, c.request_text, c.stored_digest`,Go=`from ghouls.consents c
join ghouls.runs run on run.tenant_id = c.tenant_id and run.run_id = c.run_id`,qv=_("consents.read",`
select ${fa}
${Go}
where c.tenant_id = $1 and c.consent_id = $2`),Tv=_("consents.decisions",`
select s.subject, s.verdict, s.decided_at, s.comment_text
from ghouls.consent_decisions s
where s.tenant_id = $1 and s.run_id = $2 and s.consent_id = $3
order by s.decided_at, s.subject`),Lv=_("consents.page",`
select ${ma}, ${K("c.created_at")},
  c.request_text is null or encode(sha256(convert_to(c.request_text, 'UTF8')), 'hex') = c.stored_digest as intact
${Go}
where c.tenant_id = $1 and ($3::uuid is null or c.run_id = $3) and ($4::text is null or c.status = $4)
  and ${Yt("c.created_at","c.consent_id",5)}
order by c.created_at desc, c.consent_id desc
limit $2`),Im=1e3,Mv=_("consents.inbox",`
with looked as materialized (
  select c.*
  from ghouls.consents c
  where c.tenant_id = $1 and c.status = 'PENDING' and ${Yt("c.created_at","c.consent_id",5)}
  order by c.created_at desc, c.consent_id desc
  limit $7
), last as (
  select (extract(epoch from l.created_at) * 1000000)::bigint as last_micros, l.consent_id as last_id,
    (select count(*) from looked)::integer as looked
  from looked l
  order by l.created_at, l.consent_id
  limit 1
), mine as (
  select ${ma}, ${K("c.created_at")},
    c.request_text is null or encode(sha256(convert_to(c.request_text, 'UTF8')), 'hex') = c.stored_digest as intact
  from looked c
  -- One by one: as joins, a plan may begin with all runs and all decisions that there are.
  cross join lateral (
    select run.workflow_name, run.requested_by
    from ghouls.runs run
    where run.tenant_id = $1 and run.run_id = c.run_id
    offset 0
  ) as run
  where c.deciders && $4::text[] and (c.requester_may_decide or run.requested_by <> $3)
    and (c.expires_at is null or c.expires_at > ghouls.clock())
    and (
      select count(*) from ghouls.consent_decisions s
      where s.tenant_id = $1 and s.run_id = c.run_id and s.consent_id = c.consent_id and s.subject = $3) = 0
  order by c.created_at desc, c.consent_id desc
  limit $2
)
select last.last_micros, last.last_id, last.looked, mine.*
from last left join mine on true
order by mine.created_at desc, mine.consent_id desc`),jv=_("consents.lock",`
select c.status, c.closed_by, c.deciders, c.quorum, c.requester_may_decide, c.request_digest,
  coalesce(c.expires_at <= ghouls.clock(), false) as expired
from ghouls.consents c
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3
for update`),zv=y("consents.decide",`
with word as (
  insert into ghouls.consent_decisions (tenant_id, run_id, consent_id, subject, verdict, comment_text, comment_digest, decided_at)
  select c.tenant_id, c.run_id, c.consent_id, $4, $5, $6, $7, ghouls.clock()
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
  on conflict (tenant_id, run_id, consent_id, subject) do nothing
  returning tenant_id, run_id, consent_id, decided_at
), closed as (
  update ghouls.consents c
  set status = $8, closed_at = word.decided_at, closed_by = $4
  from word
  where $8 <> 'PENDING' and c.tenant_id = word.tenant_id and c.run_id = word.run_id and c.consent_id = word.consent_id
    and c.status = 'PENDING'
  returning c.consent_id
)
select (select count(*) from closed)::integer as closed from word`);async function Sm(t,e,n,r){let o=await Fo(t,e);return o===null?null:t.transaction("consents.decide",async i=>{await O(i,[o]);let a=[o.tenantId,o.runId,o.consentId],[d]=await i.run(jv,a);if(d===void 0)return null;let u=g(d),l=Mi({status:u.text("status"),closedBy:u.textOrNull("closed_by"),deciders:o.deciders,quorum:o.quorum,requesterMayDecide:o.requesterMayDecide,requestedBy:o.requestedBy,requestDigest:o.requestDigest,expired:u.boolean("expired"),decisions:await pa(i,o)},n,r.asSource===!0),c=l.kind==="counts"||l.kind==="expired";if(l.kind==="counts"){let{subject:p,verdict:h,commentText:b,commentDigest:E}=n;await i.run(zv,[...a,p,h,b,E,l.becomes])}let m=c?await Ze(i,o,r.publisherGraceSeconds):null,f=c?await Fo(i,e)??o:o;if(c&&r.repair!==void 0){let[p,h]=[f.status,m===null?"":`, run ${Qt(m)}`];await le(i,o,{...r.repair,after:`${p}${h}`})}return{judgement:l,consent:{...f,status:c?f.status:u.text("status")},resumption:m}})}s(Sm,"decideConsent");async function Fo(t,e){let[n]=await t.run(qv,[e.tenantId,e.consentId]);return n===void 0?null:ga(n)}s(Fo,"readConsent");async function pa(t,e){return(await t.run(Tv,[e.tenantId,e.runId,e.consentId])).map(r=>{let o=g(r);return{by:o.text("subject"),verdict:o.text("verdict"),at:o.date("decided_at"),commentText:o.textOrNull("comment_text")}})}s(pa,"readDecisions");async function Am(t,e,n,r){let o=await t.run(Lv,No(e,n,r));return $m(o,r.limit)}s(Am,"readConsentPage");async function Rm(t,e,n,{limit:r,after:o}){let i=[o?.micros??null,o?.id??null],a=[e,r+1,n.subject,n.named,...i,Im],d=await t.run(Mv,a),u=$m(d.filter(c=>g(c).textOrNull("consent_id")!==null),r),[l]=d;return u.next!==void 0||l===void 0||g(l).number("looked")<Im?u:{...u,next:{micros:g(l).text("last_micros"),id:g(l).text("last_id")}}}s(Rm,"readInbox");function $m(t,e){let{shown:n,next:r}=Rn(t,e,"consent_id",o=>({...Om(o),intact:g(o).boolean("intact")}));return{consents:n,next:r}}s($m,"pageOf");function ga(t){let e=g(t);return{...Om(t),requestText:e.textOrNull("request_text")??"",storedDigest:e.text("stored_digest")}}s(ga,"consentOf");function Om(t){let e=g(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),consentId:e.text("consent_id"),status:e.text("status"),title:e.text("title"),requestDigest:e.text("request_digest"),deciders:e.texts("deciders"),quorum:e.number("quorum"),requesterMayDecide:e.boolean("requester_may_decide"),onExpiry:e.text("on_expiry"),source:e.textOrNull("source"),workflow:e.text("workflow_name"),requestedBy:e.text("requested_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),closedAt:e.dateOrNull("closed_at"),closedBy:e.textOrNull("closed_by")}}s(Om,"listedOf");var Gv=y("deadletters.note",`
insert into ghouls.dead_letters as letter (queue, message_id, body_digest, bytes, reason, first_seen_at, seen_at)
select q.*, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::text[]) as q(queue, message_id, body_digest, bytes, reason)
on conflict (queue, message_id) do update set seen_at = ghouls.clock(), reason = excluded.reason
returning letter.first_seen_at = letter.seen_at as is_new`),Uv=y("deadletters.forget",`
delete from ghouls.dead_letters letter
where letter.seen_at < ghouls.clock() - interval '3 hours'`),Wv=_("deadletters.lock",`
select d.tenant_id
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id
where run.run_id = $1 and d.seq = $2
for update of d`),Bv=y("deadletters.republish",`
update ghouls.deliveries d
set next_publication_at = greatest(d.due_at, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3
  and d.status = 'PENDING' and d.next_publication_at > greatest(d.due_at, ghouls.clock())
returning d.publications`);async function Cm(t,e){let{queue:n,messageId:r,bodyDigest:o,bytes:i,reason:a}=e,[d]=await t.run(Gv,[[n],[r],[o],[i],[a]]);return d!==void 0&&g(d).boolean("is_new")}s(Cm,"noteDeadLetter");async function Dm(t){await t.run(Uv,[])}s(Dm,"forgetDeadLetters");async function Pm(t,e){return t.transaction("deadletters.republish",async n=>{let{runId:r,enqueueSeq:o}=e,[i]=await n.run(Wv,[r,o]);if(i===void 0)return!1;let a={tenantId:g(i).text("tenant_id"),runId:r},[d]=await n.run(Bv,[a.tenantId,r,o]);return d===void 0?!1:(await le(n,a,{pass:"dead-letters",rule:"dead letter of a delivery that waits: publish anew",before:`delivery ${o} PENDING, published ${g(d).number("publications")} times`,after:"its publication is due"}),!0)})}s(Pm,"republishDeadLetter");var Uo=Ft("run","FAILING"),ha=`(
      select held.status from ghouls.deliveries held
      where held.tenant_id = run.tenant_id and held.run_id = run.run_id and held.seq = run.enqueue_seq
    ) is distinct from 'HELD'`,Hv=Ne("runs.overdue",{time:"run.deadline_at",id:"run.run_id",owner:"run.run_id",column:"run_id"},t=>`
select run.tenant_id, run.run_id, run.status, run.deadline_at, ${K("run.deadline_at")}
from ghouls.runs run
where run.status in (${I(Uo)}) and run.quarantined_at is null
  and ${ha} and ${t}`),Jv=y("runs.fail-overdue",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(Uo)})
    and run.quarantined_at is null and run.deadline_at <= ghouls.clock()
  for update
), ${jo("$5")}
update ghouls.runs run
set status = 'FAILING', error_code = 'deadline', error_text = $3, error_digest = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function Nm(t,e){let n=await xe(t,Hv,e);return be(n,e.limit,r=>{let o=g(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),status:o.text("status"),deadlineAt:o.date("deadline_at")}})}s(Nm,"readOverdueRuns");async function qm(t,e,n,r){return t.transaction("runs.fail-overdue",async o=>{await O(o,[e]);let{tenantId:i,runId:a,errorText:d,errorDigest:u}=e,[l]=await o.run(Jv,[i,a,d,u,n]);if(l===void 0)return null;let c=await ke(o,e)??g(l).text("status");return r!==void 0&&await le(o,e,{...r,after:c}),c})}s(qm,"failOverdueRun");var Yv=_("deliveries.given-back-before",`
select count(*)::integer as times
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq < $3::integer and d.seq >= $3::integer - $4::integer
  and d.outcome = 'given_back'`);async function Tm(t,{tenantId:e,runId:n,seq:r},o){let[i]=await t.run(Yv,[e,n,r,o]);return i!==void 0&&g(i).number("times")>=o}s(Tm,"wereGivenBack");async function Pn(t,e,n,r){try{return await t.run(n,r)}catch(o){throw!(o instanceof W)||o.sqlState!=="42501"?o:new x("configuration_invalid",`this role may not manage ${e}`,{fix:`Give the connection string of the role that owns the schema (GHOULS_MIGRATION_DATABASE_URL): the application's only reads ${e}.`,cause:o})}}s(Pn,"asManager");var Wo=`g.tenant_id, g.grant_id, g.name, g.holder, g.created_by, g.created_at, g.expires_at, g.revoked_at, g.revoked_by,
  g.revocation_reason, coalesce(g.expires_at <= ghouls.clock(), false) as expired`,Xv=_("grants.live",`
select ${Wo}
from ghouls.grants g
where g.tenant_id = $1 and g.name = $2 and g.holder = any($3::text[]) and g.revoked_at is null
  and (g.expires_at is null or g.expires_at > ghouls.clock())
order by g.expires_at desc nulls first, g.grant_id
limit 1`),Zv=_("grants.by-id",`
select ${Wo}
from ghouls.grants g
where g.grant_id = $1`),eI=y("grants.create",`
insert into ghouls.grants (tenant_id, grant_id, name, holder, created_by, created_at, expires_at)
select q.tenant_id, q.grant_id, q.name, q.holder, coalesce(q.created_by, 'database role ' || session_user), ghouls.clock(),
  ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::double precision[])
  as q(tenant_id, grant_id, name, holder, created_by, expires_ms)
on conflict (grant_id) do nothing`),tI=_("grants.page",`
select ${Wo}
from ghouls.grants g
order by g.created_at desc, g.grant_id
limit $1`),nI=_("grants.page-of-tenant",`
select ${Wo}
from ghouls.grants g
where g.tenant_id = $1
order by g.created_at desc, g.grant_id
limit $2`),rI=y("grants.revoke",`
update ghouls.grants g
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where g.grant_id = $1 and g.revoked_at is null
returning g.tenant_id, g.grant_id`);async function Lm(t,{tenantId:e,name:n},r){let[o]=await t.run(Xv,[e,n,r]);return o===void 0?null:_a(o)}s(Lm,"readLiveGrant");async function Mm(t,e){let{tenantId:n,grantId:r,name:o,holder:i,createdBy:a,expiresInMs:d}=e,u=[n,r,o,i,a,d].map(c=>[c]);await Pn(t,"grants",eI,u);let l=await Fm(t,r);if(l?.tenantId===n&&l.name===o&&l.holder===i)return l;throw new x("idempotency_conflict",`the id ${r} is another grant's`,{fix:"Make a grant anew: its id is random."})}s(Mm,"createGrant");async function jm(t,e,n){return(e.tenantId===void 0?await t.run(tI,[n]):await t.run(nI,[e.tenantId,n])).map(_a)}s(jm,"readGrantPage");async function zm(t,e,n){let r=await Pn(t,"grants",rI,[e,n.actor,n.reason]),o=await Fm(t,e);return o===null?null:{revoked:r.length>0,grant:o}}s(zm,"revokeGrant");async function Fm(t,e){let[n]=await t.run(Zv,[e]);return n===void 0?null:_a(n)}s(Fm,"readGrant");function _a(t){let e=g(t);return{tenantId:e.text("tenant_id"),grantId:e.text("grant_id"),name:e.text("name"),holder:e.text("holder"),createdBy:e.text("created_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),revokedAt:e.dateOrNull("revoked_at"),revokedBy:e.textOrNull("revoked_by"),revocationReason:e.textOrNull("revocation_reason"),expired:e.boolean("expired")}}s(_a,"grantOf");var sI=Ne("deliveries.expired-holds",{time:"d.hold_expires_at",id:"d.run_id",owner:"d.run_id",column:"run_id"},t=>`
select d.tenant_id, d.run_id, d.hold_expires_at, ${K("d.hold_expires_at")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'HELD' and run.status = 'QUEUED' and run.quarantined_at is null and ${t}`),iI=y("deliveries.expire-holds",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q(tenant_id, run_id, error_text, error_digest)
), expired as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.error_text, wanted.error_digest
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
  where ${Ir("run.status","FAILING")} and run.quarantined_at is null
    and d.status = 'HELD' and ${Co("d.status","FENCED")} and d.hold_expires_at <= ghouls.clock()
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
returning run.tenant_id, run.run_id, run.status`);async function Gm(t,e){let n=await xe(t,sI,e);return be(n,e.limit,r=>({...Wm(r),expiredAt:g(r).date("hold_expires_at")}))}s(Gm,"readExpiredHolds");async function Um(t,e){return e.length===0?[]:t.transaction("deliveries.expire-holds",async n=>{await O(n,e);let r=await n.run(iI,[e.map(a=>a.tenantId),e.map(a=>a.runId),e.map(a=>a.errorText),e.map(a=>a.errorDigest)]),o=[];for(let a of r){let d=Wm(a),u=g(a).text("status");o.push({...d,status:await ke(n,d)??u})}let i=new Map(e.map(({runId:a,repair:d})=>[a,d]));return await gr(n,o,({runId:a,status:d})=>{let u=i.get(a);return u&&{...u,after:d}}),o})}s(Um,"expireHolds");function Wm(t){return{tenantId:g(t).text("tenant_id"),runId:g(t).text("run_id")}}s(Wm,"keyOf");var dI=y("intents.open",`
with ${Z(ee)}
insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
from held
on conflict do nothing
returning number`),uI=_("intents.of-call",`
select i.number
from ghouls.intents i
where i.tenant_id = $1 and i.run_id = $2 and i.epoch = $3 and i.scope = $4 and i.kind = $5 and i.name = $6 and i.nth = $7
  and i.number = $8 and i.token = $9 and i.outcome is null`),lI=y("intents.close",`
with ${Z(ee)}
update ghouls.intents i
set outcome = $11, outcome_at = ghouls.clock()
from held
where i.tenant_id = held.tenant_id and i.run_id = held.run_id and i.epoch = $5 and i.scope = $6 and i.kind = $7
  and i.name = $8 and i.nth = $9 and i.number = $10 and i.outcome is null
returning i.number`),cI=_("intents.open-of-run",`
select i.epoch, i.scope, i.kind, i.name, i.nth, i.number, i.seq, i.token,
  (d.status = 'SETTLED' and d.outcome <> 'lost') or item.acknowledged_at is not null
    or coalesce(item.over_at, d.acts_until) <= ghouls.clock() as over,
  coalesce(item.over_at, d.acts_until) as over_at
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
left join ghouls.containment_items item
  on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'worker' and item.token = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.outcome is null
order by i.started_at, i.number`),mI=_("intents.last-numbers",`
select i.epoch, i.scope, i.kind, i.name, i.nth, max(i.number) as number,
  (count(*) filter (where i.outcome = 'not_done' or d.outcome is distinct from 'lost'))::integer as tries
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
where i.tenant_id = $1 and i.run_id = $2
group by i.epoch, i.scope, i.kind, i.name, i.nth`);async function Bm(t,e,n,r){return(await t.run(dI,[e.tenantId,e.runId,e.seq,e.token,...dt(n),r])).length===1?!0:(await t.run(uI,[e.tenantId,e.runId,...dt(n),r,e.token])).length===1}s(Bm,"openIntentIfClaimed");async function Km(t,e,n,r,o){let i=[e.tenantId,e.runId,e.seq,e.token];return(await t.run(lI,[...i,...dt(n),r,o])).length===1}s(Km,"closeIntentIfClaimed");async function Hm(t,e){return(await t.run(cI,[e.tenantId,e.runId])).map(r=>{let o=g(r);return{...ut(r),number:o.number("number"),seq:o.number("seq"),token:o.text("token"),over:r.over===!0,overAt:o.dateOrNull("over_at")}})}s(Hm,"readOpenIntents");async function Jm(t,e){return(await t.run(mI,[e.tenantId,e.runId])).map(r=>{let o=g(r);return{...ut(r),number:o.number("number"),tries:o.number("tries")}})}s(Jm,"readLastIntents");var pI=y("undos.start",`
with ${Z(ee)}, before as materialized (
  select u.run_id
  from held
  join ghouls.undos u on u.tenant_id = held.tenant_id and u.run_id = held.run_id and u.epoch = $5 and u.scope = $6 and u.kind = $7
    and u.name = $8 and u.nth = $9
), started as (
  insert into ghouls.undos as u (tenant_id, run_id, epoch, scope, kind, name, nth, once, seq, token, started_at)
  select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth)
    -- Whose code calls it as a plain step now has no intents that tell more.
    do update set seq = excluded.seq, token = excluded.token, cleared_at = null, once = u.once and excluded.once
  returning tenant_id, run_id
), marked as (
  update ghouls.runs run
  set undoable = true
  from started
  where run.tenant_id = started.tenant_id and run.run_id = started.run_id and not run.undoable
  returning run.run_id
)
select exists (select from before) as again from started where (select count(*) from marked) >= 0`),gI=y("undos.clear",`
with ${Z(ee)}
update ghouls.undos u
set cleared_at = ghouls.clock()
from held
where u.tenant_id = held.tenant_id and u.run_id = held.run_id and u.epoch = $5 and u.scope = $6 and u.kind = $7 and u.name = $8
  and u.nth = $9
returning u.run_id`),hI=_("undos.of-run",`
select u.epoch, u.scope, u.kind, u.name, u.nth, u.key
from ghouls.steps_to_undo u
where u.tenant_id = $1 and u.run_id = $2
order by u.started_at desc, u.key desc`);async function Vm(t,e,n,r){let o=[e.tenantId,e.runId,e.seq,e.token],[i]=await t.run(pI,[...o,...dt(n),r]);return i===void 0?null:{again:i.again===!0}}s(Vm,"startUndoableIfClaimed");async function Ym(t,e,n){let r=[e.tenantId,e.runId,e.seq,e.token];return(await t.run(gI,[...r,...dt(n)])).length===1}s(Ym,"clearUndoableIfClaimed");async function Qm(t,e){return(await t.run(hI,[e.tenantId,e.runId])).map(r=>{let o=g(r);return{...ut(r),key:o.text("key")}})}s(Qm,"readStepsToUndo");var yI=y("skips.note",`
insert into ghouls.skips (tenant_id, run_id, seq, reason, times, first_at, last_at)
select d.tenant_id, d.run_id, d.seq, q.reason, count(*)::integer, ghouls.clock(), ghouls.clock()
from unnest($1::uuid[], $2::integer[], $3::text[]) as q(run_id, seq, reason)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq
group by d.tenant_id, d.run_id, d.seq, q.reason
order by d.tenant_id, d.run_id, d.seq, q.reason
on conflict (tenant_id, run_id, seq, reason) do update
set times = least(skips.times::bigint + excluded.times, 2147483647)::integer, last_at = greatest(skips.last_at, excluded.last_at)
returning run_id`),wI=_("skips.of-run",`
select s.seq, s.reason, s.times, s.first_at, s.last_at
from ghouls.skips s
where s.tenant_id = $1 and s.run_id = $2
order by s.seq, s.reason`);async function Xm(t,e){return e.length===0?0:(await t.run(yI,[e.map(({runId:r})=>r),e.map(({enqueueSeq:r})=>r),e.map(({reason:r})=>r)])).length}s(Xm,"noteSkips");async function Zm(t,{tenantId:e,runId:n}){return(await t.run(wI,[e,n])).map(o=>{let i=g(o);return{seq:i.number("seq"),reason:i.text("reason"),times:i.number("times"),firstAt:i.date("first_at"),lastAt:i.date("last_at")}})}s(Zm,"readSkips");var kI=y("deliveries.record-worker-end",`
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
returning d.run_id`),xI=y("items.record-worker-end",`
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
returning i.run_id`);async function ya(t,e){let n=await t.run(kI,[e.worker,e.how]),r=e.actsMarginSeconds??EI;return await t.run(xI,[e.worker,r]),await Mc(t,e.worker,r),n.length}s(ya,"recordWorkerEnd");var EI=60,vI=_("deliveries.holders",`
select d.tenant_id, d.run_id, d.claimed_by as worker
from ghouls.deliveries d
where d.status = 'CLAIMED' and d.worker_ended_at is null and (d.claimed_by = $1 or starts_with(d.claimed_by, $2))
union
select i.tenant_id, i.run_id, i.worker
from ghouls.containment_items i
where i.kind = 'worker' and i.acknowledged_at is null and (i.worker = $1 or starts_with(i.worker, $2))
union
select a.tenant_id, a.run_id, a.submitter
from ghouls.attempts a
where a.status = 'SUBMITTING' and (a.submitter = $1 or starts_with(a.submitter, $2))
order by worker, tenant_id, run_id`);async function ef(t,e){let{worker:n,actor:r,reason:o,actsMarginSeconds:i}=e;return t.transaction("deliveries.say-worker-ended",async a=>{let u=(await a.run(vI,[n,`${n}/`])).map(f=>{let p=g(f);return{tenantId:p.text("tenant_id"),runId:p.text("run_id"),worker:p.text("worker")}}),l=[...new Map(u.map(f=>[f.runId,f])).values()];l.length>0&&await O(a,l);let c=[...new Set(u.map(f=>f.worker))],m=`${r}: ${o}`;for(let f of c)await ya(a,{worker:f,how:m,actsMarginSeconds:i});for(let f of u)await Ee(a,f,{actor:r,act:"worker_ended",subject:f.worker,reason:o});return{workers:c,runs:l.length}})}s(ef,"sayWorkerEnded");var Xt=`f.fault_id, f.check_name, f.tenant_id, f.run_id, f.subject, f.detail, f.found_at, f.found_by, f.seen_at, f.gone_at,
  f.quarantine, f.acknowledged_at, f.acknowledged_by, f.acknowledgement`,wa=s(t=>`${t}.gone_at is null and ${t}.acknowledged_at is null`,"isOpen"),Cr=s(t=>`${wa(t)} and ${t}.check_name <> '${rt}'`,"contradicts");function Zt(t){let e=g(t),n=e.dateOrNull("acknowledged_at");return{faultId:e.text("fault_id"),check:e.text("check_name"),tenantId:e.textOrNull("tenant_id"),runId:e.textOrNull("run_id"),subject:e.text("subject"),detail:e.text("detail"),foundAt:e.date("found_at"),foundBy:e.text("found_by"),seenAt:e.date("seen_at"),goneAt:e.dateOrNull("gone_at"),quarantine:e.textOrNull("quarantine"),acknowledged:n===null?null:{by:e.text("acknowledged_by"),reason:e.text("acknowledgement"),at:n}}}s(Zt,"faultOf");var SI=_("integrity.by-id",`
select ${Xt}
from ghouls.integrity_faults f
where f.fault_id = $1`),AI=y("integrity.acknowledge",`
update ghouls.integrity_faults f
set acknowledged_at = ghouls.clock(), acknowledged_by = $2, acknowledgement = $3
where f.fault_id = $1 and f.acknowledged_at is null and f.gone_at is null
returning ${Xt}`);async function Bo(t,e){let[n]=await t.run(SI,[e]);return n===void 0?null:Zt(n)}s(Bo,"readFault");async function tf(t,e,n){let r=await Bo(t,e);if(r===null)return null;let{tenantId:o,runId:i}=r,a=o===null||i===null?null:{tenantId:o,runId:i};return t.transaction("integrity.acknowledge",async d=>{a!==null&&await O(d,[a]);let[u]=await d.run(AI,[e,n.actor,n.reason]);return u===void 0?{acknowledged:!1,fault:await Bo(d,e)??r}:(a!==null&&await Ee(d,a,{...n,act:"acknowledge",subject:`fault: ${r.check}`}),{acknowledged:!0,fault:Zt(u)})})}s(tf,"acknowledgeFault");var nf=s((t,e)=>_(t,`
select ${Xt}, ${K("f.found_at")}
from ghouls.integrity_faults f
where coalesce(f.tenant_id, '') = any(case when $2::boolean then array[$1::text, ''] else array[$1::text] end) and ${e}
  and ${Yt("f.found_at","f.fault_id",4)}
order by f.found_at desc, f.fault_id desc
limit $3`),"page"),$I=nf("integrity.page-open",wa("f")),OI=nf("integrity.page-others","(f.gone_at is not null or f.acknowledged_at is not null)"),CI=_("integrity.unacknowledged",`
select count(*)::integer as faults
from ghouls.integrity_faults f
where ${Cr("f")}`);async function rf(t,e,{limit:n,after:r}){let o=s(async(l,c,m)=>{let{tenantId:f,deployment:p}=e,h=[f,p,c+1,m?.micros??null,m?.id??null],b=await t.run(l?$I:OI,h),E=b.slice(0,c).at(-1);return{shown:b.slice(0,c).map(Zt),more:b.length>c,last:E&&{micros:g(E).text("micros"),id:g(E).text("fault_id"),open:l}}},"read"),i=r===void 0||r.open,a=i?await o(!0,n,r):{shown:[],more:!1,last:void 0};if(a.more)return{faults:a.shown,next:a.last};if(e.openOnly)return{faults:a.shown,next:void 0};let d=await o(!1,n-a.shown.length,i?void 0:r),u=d.more?d.last??a.last:void 0;return{faults:[...a.shown,...d.shown],next:u}}s(rf,"readFaultPage");async function of(t){let[e]=await t.run(CI,[]);return g(e??{}).number("faults")}s(of,"countUnacknowledged");var PI=["doctor_pending_deliveries","doctor_endings","doctor_attempts","doctor_children"],sf={run:{runId:"v.run_id",subject:"v.run_id::text"},reservation:{runId:"case when v.status is not null then v.run_id end",subject:"case when v.status is not null then v.run_id::text else 'capacity ' || v.capacity end"}};function NI({view:t}){let{runId:e,subject:n}=t==="doctor_reservations"?sf.reservation:sf.run,r=PI.includes(t)?`
      and not exists (
        select from ghouls.runs run where run.tenant_id = f.tenant_id and run.run_id = f.run_id and run.quarantined_at is not null
          and run.finished_at is null)`:"";return y(`integrity.judge-${t.replace("doctor_","").replaceAll("_","-")}`,`
with broken as materialized (
  select v.tenant_id, ${e} as run_id, ${n} as subject,
    left(array_to_string((array_agg(v.detail order by v.detail))[1:5], $3::text) || case when count(*) > 5 then $4::text else '' end, 1000) as detail
  from (
    select one.*, (jsonb_strip_nulls(to_jsonb(one)) - array['tenant_id', 'run_id'])::text as detail
    from ghouls.${t} one
  ) v
  group by 1, 2, 3
), standing as materialized (
  select f.fault_id
  from ghouls.integrity_faults f
  where f.check_name = $2::text and f.gone_at is null and f.seen_at <= ghouls.clock() and not exists (
      select from broken b where b.tenant_id = f.tenant_id and b.subject = f.subject)${r}
  order by f.fault_id
  for update
), gone as (
  update ghouls.integrity_faults f
  set gone_at = ghouls.clock()
  from standing
  where f.fault_id = standing.fault_id
  returning f.fault_id
), noted as (
  insert into ghouls.integrity_faults as fault (fault_id, check_name, tenant_id, run_id, subject, detail, found_at, found_by, seen_at)
  select gen_random_uuid(), $2::text, b.tenant_id, b.run_id, b.subject, b.detail, ghouls.clock(), $1::text, ghouls.clock()
  from broken b
  where (select count(*) from gone) >= 0
  order by b.tenant_id, b.subject
  on conflict (check_name, coalesce(tenant_id, ''), subject) where gone_at is null
    do update set seen_at = ghouls.clock(), detail = excluded.detail
  returning fault.found_at = fault.seen_at as is_new
)
select (select count(*) filter (where is_new) from noted)::integer as found, (select count(*) from gone)::integer as gone`)}s(NI,"judging");var af=Er.filter(({kind:t})=>t==="integrity").map(t=>({check:t.check,statement:NI(t)}));async function df(t,e){let[n,r]=[0,0];for(let{check:o,statement:i}of af){let[a]=await t.run(i,[e,o,"; ","; \u2026"]),d=g(a??{});n+=d.number("found"),r+=d.number("gone")}return{checks:af.length,newFaults:n,goneFaults:r}}s(df,"evaluateIntegrity");var qI=100,TI=_("integrity.to-quarantine",`
select f.fault_id, f.tenant_id, f.run_id
from ghouls.integrity_faults f
where f.gone_at is null and f.quarantine is null and f.run_id is not null
order by f.run_id, f.fault_id
limit $1`),LI=y("integrity.quarantine",`
with fault as materialized (
  select f.fault_id, f.tenant_id, f.run_id, f.check_name
  from ghouls.integrity_faults f
  where f.fault_id = any($1::uuid[]) and f.gone_at is null and f.quarantine is null
  order by f.fault_id
  for update
), held as materialized (
  select run.tenant_id, run.run_id, run.status in (${I(fe)}) as is_open, run.quarantined_at is not null as quarantined,
    (select min(fault.check_name) from fault where fault.tenant_id = run.tenant_id and fault.run_id = run.run_id) as reason
  from ghouls.runs run
  where (run.tenant_id, run.run_id) in (select fault.tenant_id, fault.run_id from fault)
), made as (
  update ghouls.runs run
  set quarantine_reason = $2::text || held.reason, quarantined_at = ghouls.clock()
  from held
  where run.tenant_id = held.tenant_id and run.run_id = held.run_id and held.is_open and not held.quarantined
  returning run.tenant_id, run.run_id
), said as (
  update ghouls.integrity_faults f
  set quarantine = case
    when made.run_id is not null then 'made'
    when held.run_id is null then 'absent'
    when held.is_open then 'standing'
    else 'ended' end
  from fault
  left join held on held.tenant_id = fault.tenant_id and held.run_id = fault.run_id
  left join made on made.tenant_id = fault.tenant_id and made.run_id = fault.run_id
  where f.fault_id = fault.fault_id
  returning f.fault_id
)
select (select count(*) from made)::integer as made, (select count(*) from said)::integer as said`);async function uf(t){for(let e=0;;){let n=(await t.run(TI,[qI])).map(r=>g(r));if(n.length===0)return e;e+=await t.transaction("integrity.quarantine",async r=>{await O(r,n.map(i=>({tenantId:i.text("tenant_id"),runId:i.text("run_id")})));let[o]=await r.run(LI,[n.map(i=>i.text("fault_id")),"integrity: "]);return g(o??{}).number("made")})}}s(uf,"quarantineFaulty");function Nn(t){return`not exists (
      select from ghouls.releases r
      where r.workflow_name = ${t}.workflow_name and r.workflow_digest = ${t}.workflow_digest and r.removed_at is null)`}s(Nn,"withoutRelease");var MI=5,jI=y("integrity.judge-stranded",`
with stranded as materialized (
  select run.workflow_name, run.workflow_version, run.workflow_digest, run.run_id,
    row_number() over (partition by run.workflow_name, run.workflow_version, run.workflow_digest order by run.created_at desc, run.run_id desc) as nth
  from ghouls.runs run
  where run.status in (${I(Ge)})
    and (run.workflow_name, run.workflow_digest) not in (
      select q.name, q.digest
      from unnest($1::text[], $2::text[]) as q(name, digest))
    and ${Nn("run")}
), pin as materialized (
  select format($4::text, s.workflow_name, s.workflow_version, s.workflow_digest) as subject,
    format($5::text, count(*), string_agg(s.run_id::text, $6::text order by s.nth) filter (where s.nth <= ${MI})) as detail
  from stranded s
  group by s.workflow_name, s.workflow_version, s.workflow_digest
), standing as materialized (
  select f.fault_id
  from ghouls.integrity_faults f
  where f.check_name = '${rt}' and f.gone_at is null and f.seen_at <= ghouls.clock()
    and not exists (select from pin where pin.subject = f.subject)
  order by f.fault_id
  for update
), gone as (
  update ghouls.integrity_faults f
  set gone_at = ghouls.clock()
  from standing
  where f.fault_id = standing.fault_id
  returning f.fault_id
), noted as (
  insert into ghouls.integrity_faults as fault (fault_id, check_name, tenant_id, run_id, subject, detail, found_at, found_by, seen_at)
  select gen_random_uuid(), '${rt}', null, null, pin.subject, pin.detail, ghouls.clock(), $3::text, ghouls.clock()
  from pin
  where (select count(*) from gone) >= 0
  order by pin.subject
  on conflict (check_name, coalesce(tenant_id, ''), subject) where gone_at is null
    do update set seen_at = ghouls.clock(), detail = excluded.detail
  returning fault.found_at = fault.seen_at as is_new
)
select (select count(*) filter (where is_new) from noted)::integer as found, (select count(*) from gone)::integer as gone`);async function lf(t,e,n){let[r]=await t.run(jI,[e.map(({name:i})=>i),e.map(({digest:i})=>i),n,"%s@%s %s","open runs: %s, such as %s",", "]),o=g(r??{});return{newFaults:o.number("found"),goneFaults:o.number("gone")}}s(lf,"judgeStranded");var zI=1e3,FI=20,GI=_("integrity.states",`
with every as materialized (
  select run.status, count(*) as runs from ghouls.runs run group by run.status
), held as materialized (
  select run.status, count(*) as runs
  from ghouls.runs run
  where (run.attention_at is not null or run.quarantined_at is not null) and run.quarantined_at is not null
  group by run.status
), faulty as materialized (
  select run.status, count(*) as runs
  from ghouls.runs run
  where (run.tenant_id, run.run_id) in (
    select f.tenant_id, f.run_id from ghouls.integrity_faults f where f.gone_at is null and f.run_id is not null)
  group by run.status
)
select every.status, every.runs, every.runs - coalesce(held.runs, 0) as checked, coalesce(faulty.runs, 0) as faulty
from every
left join held on held.status = every.status
left join faulty on faulty.status = every.status`),mf=s((t,e)=>_(t,`
select ${Xt}, count(*) over ()::integer as faults
from ghouls.integrity_faults f
where f.gone_at is null and ${e} and ($2::boolean or f.check_name <> '${rt}')
order by f.found_at, f.fault_id
limit $1`),"standing"),UI=mf("integrity.refused","f.acknowledged_at is null"),WI=mf("integrity.acknowledged","f.acknowledged_at is not null");async function ff(t,e){await BI(t);let n=await il(t,zI),r=await df(t,e.by),{carried:o}=e,i=o===void 0?{newFaults:0,goneFaults:0}:await lf(t,o,e.by),a=await uf(t),d=o!==void 0;return{checks:r.checks,strandedJudged:d,states:await KI(t),repaired:n,newFaults:r.newFaults+i.newFaults,goneFaults:r.goneFaults+i.goneFaults,quarantined:a,acknowledged:await cf(t,WI,d),refused:await cf(t,UI,d)}}s(ff,"judgeLedger");async function BI(t){let{applied:e,known:n}=await vr(t);if(!(e>=n))throw new x("schema_outdated",`the ledger cannot be judged: migration ${e} is applied, and this code needs ${n}`,{fix:"Run `ghouls migrate` with the connection of the role that owns the schema."})}s(BI,"refuseOlderSchema");async function KI(t){let e=new Map((await t.run(GI,[])).map(n=>{let r=g(n),o=r.text("status");return[o,{status:o,runs:r.number("runs"),checked:r.number("checked"),faulty:r.number("faulty")}]}));return B("run").flatMap(n=>e.get(n)??[])}s(KI,"readStates");async function cf(t,e,n){let r=await t.run(e,[FI,n]),[o]=r;return{count:o===void 0?0:g(o).number("faults"),first:r.map(Zt)}}s(cf,"readStanding");var HI=_("items.of-run",`
select i.kind, i.key, i.seq, i.worker, i.over_at, i.created_at, i.tries, i.last_error, i.acknowledged_at, i.acknowledged_by,
  i.acknowledgement
from ghouls.containment_items i
where i.tenant_id = $1 and i.run_id = $2
order by i.created_at, i.kind, i.key`),JI={page:_("items.due",`
select i.tenant_id, i.run_id, run.status, run.open_items, ${K("i.due_at")}
from (
  (select i.tenant_id, i.run_id, i.next_look_at as due_at
  from ghouls.containment_items i
  where i.acknowledged_at is null and ${An("i.next_look_at")}
    and ${hr("i.next_look_at","i.run_id",2)}
  order by i.next_look_at, i.run_id
  limit $1)
  union all
  (select run.tenant_id, run.run_id, run.created_at
  from ghouls.runs run
  where ${pf("run")} and ${An("run.created_at")} and ${hr("run.created_at","run.run_id",2)}
  order by run.created_at, run.run_id
  limit $1)
) as i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
order by i.due_at, i.run_id
limit $1`),named:_("items.due-named",`
select run.tenant_id, run.run_id, run.status, run.open_items, ${K("run.created_at")}
from ghouls.runs run
where run.run_id = any($2::uuid[]) and (${pf("run")}
  or exists (
    select from ghouls.containment_items i
    where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
      and i.next_look_at <= ghouls.clock()))
order by run.run_id
limit $1`)};function pf(t){return`${t}.status in (${I(X)}) and ${t}.open_items = 0
    and (${t}.quarantined_at is null or ${t}.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = ${t}.tenant_id and d.run_id = ${t}.run_id and d.status = 'CLAIMED')`}s(pf,"endable");var VI=y("items.acknowledge-over",`
with over as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null
    and ((i.kind = 'worker' and i.over_at <= ghouls.clock())
      or (i.kind = 'child' and exists (
        select from ghouls.runs child
        where child.tenant_id = i.tenant_id and child.run_id = i.token
          and child.status in (${I(Pe("run"))}))))
  order by i.kind, i.key
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = case i.kind when 'worker' then 'time' else 'child' end,
    acknowledgement = case i.kind when 'worker' then 'nothing of its claim can act any more' else 'the run has ended' end
  from over
  where i.tenant_id = over.tenant_id and i.run_id = over.run_id and i.kind = over.kind and i.key = over.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - (select count(*) from acknowledged)::integer
where run.tenant_id = $1 and run.run_id = $2 and (select count(*) from acknowledged) > 0
returning run.open_items`),ba=`d.cause = 'contain' and d.outcome in ('lost', 'failed', 'refused') and not exists (
      select from ghouls.runs run
      where run.tenant_id = d.tenant_id and run.run_id = d.run_id and run.contain_from >= d.settled_at)`,YI=y("items.look-later",`
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
  when i.kind in ('attempt', 'child') then false
  else not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind = 'worker'
        and other.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and ${ba}) >= $3
  end as needs_word, i.kind`),QI=y("deliveries.contain",`
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(X)})
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
        and (i.kind = 'effect' or i.kind = 'undo' and not exists (
          select from ghouls.containment_items other
          where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind <> 'undo'
            and other.acknowledged_at is null)))
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'worker' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and ${ba}) < $3
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
  where d.tenant_id = n.tenant_id and d.run_id = n.run_id and ${ba}
) as later
returning seq`),XI=y("items.note-error",`
update ghouls.containment_items i
set last_error = $5
where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
returning i.key`);async function gf(t,e,n,r){await t.run(XI,[e.tenantId,e.runId,n.kind,n.key,r])}s(gf,"noteError");async function hf(t,e){return(await t.run(HI,[e.tenantId,e.runId])).map(r=>{let o=g(r);return{kind:o.text("kind"),key:o.text("key"),seq:o.number("seq"),worker:o.text("worker"),overAt:o.dateOrNull("over_at"),createdAt:o.date("created_at"),tries:o.number("tries"),lastError:o.textOrNull("last_error"),acknowledgedAt:o.dateOrNull("acknowledged_at"),acknowledgedBy:o.textOrNull("acknowledged_by"),acknowledgement:o.textOrNull("acknowledgement")}})}s(hf,"readItems");async function _f(t,e){let n=await xe(t,JI,e),{found:r,next:o}=be(n,e.limit,i=>({tenantId:g(i).text("tenant_id"),runId:g(i).text("run_id"),runStatus:g(i).text("status"),openItems:g(i).number("open_items")}));return{found:[...new Map(r.map(i=>[i.runId,i])).values()],next:o}}s(_f,"readDueItems");async function ka(t,e){let n=await t.run(VI,[e.tenantId,e.runId]);return n.length>0&&await Mo(t,e),n.length>0}s(ka,"acknowledgeOver");async function xa(t,e,n,r){let o=[e.tenantId,e.runId];return t.transaction("items.contain",async i=>{await O(i,[e]);let a=await ka(i,e),d=await ke(i,e),u=s(async f=>{r!==void 0&&await le(i,e,{...r,after:f})},"note");if(d!==null)return await u(d),{ended:d,contain:!1,needsWord:!1,children:!1,moved:!0};let l=await i.run(QI,[...o,n]),[c]=l.map(f=>`contain delivery ${g(f).number("seq")}`);(a||c!==void 0)&&await u(c??"items acknowledged");let m=await i.run(YI,[...o,n]);return{ended:d,contain:l.length===1,needsWord:l.length===0&&m.some(f=>f.needs_word===!0),children:m.some(f=>f.kind==="child"),moved:a||l.length===1}})}s(xa,"containRun");var Ea=`k.tenant_id, k.key_id, k.subject, k.roles, k.permissions, k.created_by, k.created_at, k.expires_at, k.last_used_at,
  k.revoked_at, k.revoked_by, k.revocation_reason, coalesce(k.expires_at <= ghouls.clock(), false) as expired`,eS=_("keys.by-id",`
select ${Ea}, k.digest, coalesce(k.last_used_at < ghouls.clock() - interval '1 hour', true) as use_is_due
from ghouls.api_keys k
where k.key_id = $1`),tS=y("keys.mark-used",`
update ghouls.api_keys k
set last_used_at = ghouls.clock()
where k.tenant_id = $1 and k.key_id = $2
  and (k.last_used_at is null or k.last_used_at < ghouls.clock() - interval '1 hour')`),nS=y("keys.create",`
insert into ghouls.api_keys (tenant_id, key_id, digest, subject, roles, permissions, created_by, created_at, expires_at)
select q.tenant_id, q.key_id, q.digest, q.subject, array(select jsonb_array_elements_text(q.roles::jsonb)),
  array(select jsonb_array_elements_text(q.permissions::jsonb)), coalesce(q.created_by, 'database role ' || session_user),
  ghouls.clock(), ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::double precision[])
  as q(tenant_id, key_id, digest, subject, roles, permissions, created_by, expires_ms)
order by q.key_id
on conflict (key_id) do nothing`),rS=_("keys.page",`
select ${Ea}
from ghouls.api_keys k
order by k.created_at desc, k.key_id
limit $1`),oS=_("keys.page-of-tenant",`
select ${Ea}
from ghouls.api_keys k
where k.tenant_id = $1
order by k.created_at desc, k.key_id
limit $2`),sS=y("keys.revoke",`
update ghouls.api_keys k
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where k.key_id = $1 and k.revoked_at is null
returning k.tenant_id, k.key_id`),iS=_("keys.roles-of-subject",`
select k.roles
from ghouls.api_keys k
where k.tenant_id = $1 and k.subject = $2 and k.revoked_at is null
  and (k.expires_at is null or k.expires_at > ghouls.clock())`);async function Ko(t,e){let[n]=await t.run(eS,[e]);if(n===void 0)return null;let r=g(n);return{...vf(n),digest:r.text("digest"),useIsDue:r.boolean("use_is_due")}}s(Ko,"readKey");async function yf(t,e){await t.run(tS,[e.tenantId,e.keyId])}s(yf,"markKeyUsed");async function wf(t,e){let n=s(r=>e.map(r),"column");return await Pn(t,"keys",nS,[n(r=>r.tenantId),n(r=>r.keyId),n(r=>r.digest),n(r=>r.subject),n(r=>JSON.stringify(r.roles)),n(r=>JSON.stringify(r.permissions)),n(r=>r.createdBy),n(r=>r.expiresInMs)]),Promise.all(e.map(r=>aS(t,r)))}s(wf,"createKeys");async function aS(t,{tenantId:e,keyId:n,digest:r}){let o=await Ko(t,n);if(o!==null&&o.tenantId===e&&jt(o.digest,r))return Ef(o);throw new x("idempotency_conflict",`the id ${n} is another key's`,{fix:"Make a key anew: its id is random."})}s(aS,"readMade");async function bf(t,e,n){return(e.tenantId===void 0?await t.run(rS,[n]):await t.run(oS,[e.tenantId,n])).map(vf)}s(bf,"readKeyPage");async function kf(t,e,n){let r=await Pn(t,"keys",sS,[e,n.actor,n.reason]),o=await Ko(t,e);return o===null?null:{revoked:r.length>0,key:Ef(o)}}s(kf,"revokeKey");async function xf(t,{tenantId:e,subject:n}){let r=await t.run(iS,[e,n]);return r.length===0?null:[...new Set(r.flatMap(o=>g(o).texts("roles")))]}s(xf,"readRolesOfSubject");function Ef({digest:t,useIsDue:e,...n}){return n}s(Ef,"shown");function vf(t){let e=g(t);return{tenantId:e.text("tenant_id"),keyId:e.text("key_id"),subject:e.text("subject"),roles:e.texts("roles"),permissions:e.texts("permissions"),createdBy:e.text("created_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),lastUsedAt:e.dateOrNull("last_used_at"),revokedAt:e.dateOrNull("revoked_at"),revokedBy:e.textOrNull("revoked_by"),revocationReason:e.textOrNull("revocation_reason"),expired:e.boolean("expired")}}s(vf,"keyOf");var uS=Ne("consents.to-look-up",{time:"c.next_look_at",id:"c.run_id",owner:"c.consent_id",column:"consent_id"},t=>`
select ${fa}, c.looks, ${K("c.next_look_at")}
${Go}
where c.status = 'PENDING' and c.source is not null and ${t}`),lS=y("consents.looked-up",`
update ghouls.consents c
set looks = c.looks + 1, next_look_at = ghouls.clock() + $4::double precision * interval '1 second'
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING' and c.looks = $5
returning c.looks`);async function If(t,e){let n=await xe(t,uS,e);return be(n,e.limit,r=>({...ga(r),looks:g(r).number("looks")}))}s(If,"readConsentsToLookUp");async function Sf(t,e,n){let{tenantId:r,runId:o,consentId:i,looks:a}=e;return(await t.run(lS,[r,o,i,n,a])).length===1}s(Sf,"postponeLookUp");var mS=Ne("deliveries.lapsed",{time:"d.lease_until",id:"d.run_id",owner:"d.run_id",column:"run_id"},t=>`
select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, run.status, run.on_worker_loss, run.losses,
  ${K("d.lease_until")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'CLAIMED' and ${t}`),fS=y("deliveries.settle-lost",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[])
    as q(tenant_id, run_id, seq, token, error_text, error_digest)
), lost as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.checkpoint_generation, wanted.error_text, wanted.error_digest,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $8::double precision * interval '1 second') end as over_at,
    run.status as run_status,
    case when run.status in (${I(X)}) then run.status
      when run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer then 'QUEUED'
      else 'FAILING' end as next_status
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = wanted.seq
  where d.status = 'CLAIMED' and d.token = wanted.token and d.lease_until < ghouls.clock()
    and (char_length(wanted.error_digest) > 0 or run.status in (${I(X)})
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
  select i.tenant_id, i.run_id, ${it} as key, i.seq, i.token, lost.claimed_by
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
left join next on next.run_id = moved.run_id`);async function Af(t,e){let n=await xe(t,mS,e);return be(n,e.limit,r=>{let o=g(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),seq:o.number("seq"),token:o.text("token"),worker:o.text("claimed_by"),runStatus:o.text("status"),onWorkerLoss:o.text("on_worker_loss"),losses:o.number("losses")}})}s(Af,"readLapsedClaims");async function Rf(t,e,n){return e.length===0?[]:t.transaction("deliveries.settle-lost",async r=>{await O(r,e);let i=(await r.run(fS,[e.map(d=>d.tenantId),e.map(d=>d.runId),e.map(d=>d.seq),e.map(d=>d.token),e.map(d=>d.errorText),e.map(d=>d.errorDigest),n.maxLosses,n.actsMarginSeconds,n.publisherGraceSeconds])).map(d=>{let u=g(d);return{tenantId:u.text("tenant_id"),runId:u.text("run_id"),status:u.text("status"),enqueueSeq:u.number("enqueue_seq"),queue:u.text("queue")}}),a=new Map(e.map(({runId:d,repair:u})=>[d,u]));return await gr(r,i,({runId:d,status:u,enqueueSeq:l})=>{let c=a.get(d);return c&&{...c,after:u==="QUEUED"?`QUEUED, delivery ${l}`:u}}),i})}s(Rf,"settleLostClaims");var gS=Ne("children.due",{time:"e.ended_at",id:"e.run_id",owner:"e.run_id",column:"run_id"},t=>`
select e.tenant_id, e.run_id, e.parent_run_id, ${K("e.ended_at")}
from ghouls.child_ends e
where ${t}`),hS=y("children.forget-end","delete from ghouls.child_ends e where e.tenant_id = $1 and e.run_id = $2 returning e.run_id"),_S=_("children.to-cancel",`
select child.tenant_id, child.run_id
from ghouls.containment_items i
join ghouls.runs child on child.tenant_id = i.tenant_id and child.run_id = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'child' and i.acknowledged_at is null and child.parent_close = 'cancel'
  and child.status in (${I(Ge)})
order by child.run_id`);async function $f(t,e){let n=await xe(t,gS,e);return be(n,e.limit,r=>{let o=g(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),parentRunId:o.text("parent_run_id")}})}s($f,"readChildEnds");async function Of(t,{tenantId:e,runId:n,parentRunId:r},o,i){let a={tenantId:e,runId:r};return t.transaction("children.tell-parent",async d=>{let u=(await O(d,[a])).get(r),l=u!==void 0&&!pe(u),c=u!==void 0&&at.includes(u),m=l&&await ka(d,a)?await ke(d,a):null,f=c?await Ze(d,a,o):null,p=(await d.run(hS,[e,n])).length===1;if(p&&i!==void 0){let h=m??(f===null?u??"gone":Qt(f));await le(d,a,{...i,after:h})}return{resumption:f,ended:m,told:p}})}s(Of,"tellParent");async function Cf(t,e){return(await t.run(_S,[e.tenantId,e.runId])).map(r=>({tenantId:g(r).text("tenant_id"),runId:g(r).text("run_id")}))}s(Cf,"readChildrenToCancel");var wS=y("children.start",`
with ${Z(ee)}, arm as (
  insert into ghouls.arms (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, created_at)
  select held.tenant_id, held.run_id, $5::uuid, $6, $7, 'child', $8, $9, 'child', held.generation + 1, held.seq, ghouls.clock()
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null do nothing
  returning tenant_id, run_id, arm_id, created_at
), parent as (
  update ghouls.runs run
  set children = run.children + 1, losses = 0, idle_yields = 0
  from arm
  where run.tenant_id = arm.tenant_id and run.run_id = arm.run_id
  returning run.tenant_id, run.run_id, run.first_run_id, run.priority, run.agent, run.requested_by, run.requested_roles, arm.arm_id, arm.created_at
), before as materialized (
  select c.first_run_id
  from parent
  join ghouls.arms a on a.tenant_id = parent.tenant_id and a.run_id in (
      select parent.first_run_id
      union all
      select again.run_id from ghouls.runs again
      where again.tenant_id = parent.tenant_id and again.first_run_id = parent.first_run_id and again.redrive_of is not null)
    and a.epoch = $6 and a.scope = $7 and a.kind = 'child' and a.name = $8 and a.nth = $9
  join ghouls.runs c on c.tenant_id = a.tenant_id and c.parent_run_id = a.run_id and c.parent_arm_id = a.arm_id
  where parent.first_run_id <> parent.run_id and c.workflow_name = $12
  limit 1
), child as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest,
    queue, priority, agent, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, deadline_at, created_at,
    on_worker_loss, parent_run_id, parent_arm_id, parent_close)
  select parent.tenant_id, $10::uuid, coalesce(before.first_run_id, $10::uuid), $11, $12, $13::integer, $14, $15, coalesce($16::smallint, parent.priority), parent.agent,
    parent.requested_by, parent.requested_roles, 'QUEUED', 1, $17, $18,
    parent.created_at + $19::double precision * interval '1 millisecond', parent.created_at, $20, parent.run_id, parent.arm_id, $21
  from parent
  left join before on true
  returning tenant_id, run_id, enqueue_seq, queue, priority, created_at
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select child.tenant_id, child.run_id, child.enqueue_seq, 'admitted', 'PENDING', child.queue, child.priority, child.created_at,
  child.created_at + $22::double precision * interval '1 second', child.created_at
from child
returning run_id`),bS=_("children.started",`
select child.run_id
from ghouls.runs child
where child.tenant_id = $1 and child.parent_run_id = $2 and child.parent_arm_id = $3::uuid`);async function Df(t,e,n,r){let{call:o,workflow:i}=n,[a]=await t.run(wS,[e.tenantId,e.runId,e.seq,e.token,n.armId,o.epoch,o.scope,o.name,o.nth,n.runId,n.requestDigest,i.name,i.version,i.digest,n.queue,n.priority,n.inputText,n.inputDigest,n.deadlineMs,n.onWorkerLoss,n.parentClose,r.publisherGraceSeconds]);if(a!==void 0)return!0;let[d]=await t.run(bS,[e.tenantId,e.runId,n.armId]);return d!==void 0&&g(d).text("run_id")===n.runId}s(Df,"startChildIfClaimed");var Nf="d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at, d.acts_until, d.checkpoint_generation",va=`run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.requested_roles, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at,
  run.starts_at, run.deadline_at, run.epoch, run.journal_start, run.idle_yields, run.workflow_absent_since, run.open_items,
  run.parent_run_id, coalesce(run.input_stored_for, run.run_id) as input_stored_for`,xS=y("deliveries.claim",`
with wanted as materialized (
  select q.run_id, q.seq, q.token from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
), r as materialized (
  select run.tenant_id, run.run_id, run.workflow_name, run.status, run.paused_at, run.quarantined_at
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
    and ((d.cause <> 'contain' and r.status = 'QUEUED' and r.quarantined_at is null and ${Dn("r")})
      or (d.cause = 'contain' and r.status in (${I(X)})
        and (r.quarantined_at is null or r.status = 'CANCELLING')))
    and ${Co("d.status","CLAIMED")} and d.due_at <= ghouls.clock()
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
  returning run.tenant_id, run.run_id, ${va}
)
select ${Nf}, ${va}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`),ES=_("deliveries.claimed-by-token",`
select ${Nf}, ${va}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`),vS=_("deliveries.taken-by-token",`
select d.tenant_id, d.run_id, d.seq, d.token
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token`),IS=_("deliveries.unclaimed",`
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  ${Ct("run")} as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`);async function qf(t,e,n){let r=Ia(e),o=e.map(d=>d.token),i=await t.run(xS,[...r,o,n.worker,n.leaseSeconds,n.actsForSeconds]);return i.length===e.length?i.map(Pf):(await t.run(ES,[...r,o])).map(Pf)}s(qf,"claimDeliveriesIfDue");async function Tf(t,e){let n=e.map(o=>o.token);return(await t.run(vS,[...Ia(e),n])).map(o=>{let i=g(o);return{tenantId:i.text("tenant_id"),runId:i.text("run_id"),seq:i.number("seq"),token:i.text("token")}})}s(Tf,"readTaken");async function Lf(t,e){let n=await t.run(IS,Ia(e));return new Map(n.map(r=>{let o=g(r);return[`${o.text("run_id")}:${o.number("seq")}`,{runStatus:o.text("run_status"),deliveryStatus:o.text("delivery_status"),cause:o.text("cause"),currentSeq:o.number("enqueue_seq"),seq:o.number("seq"),paused:o.boolean("paused"),quarantined:o.boolean("quarantined"),dueInSeconds:o.number("due_in"),leaseEndsInSeconds:o.numberOrNull("lease_ends_in")}]}))}s(Lf,"readUnclaimed");function Ia(t){return[t.map(e=>e.runId),t.map(e=>e.enqueueSeq)]}s(Ia,"arrays");function Pf(t){let e=g(t);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),seq:e.number("seq"),token:e.text("token"),cause:e.text("cause"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},firstRunId:e.text("first_run_id"),queue:e.text("queue"),agent:e.textOrNull("agent"),requestedBy:e.text("requested_by"),requestedRoles:e.texts("requested_roles"),inputText:e.text("input_text"),inputDigest:e.text("input_digest"),inputStoredFor:e.text("input_stored_for"),journalLength:e.number("journal_length"),journalBytes:e.number("journal_bytes"),admittedAt:e.date("created_at"),startsAt:e.dateOrNull("starts_at"),deadlineAt:e.dateOrNull("deadline_at"),checkpointGeneration:e.numberOrNull("checkpoint_generation"),epoch:e.number("epoch"),journalStart:e.number("journal_start"),idleYields:e.number("idle_yields"),workflowAbsentSince:e.dateOrNull("workflow_absent_since"),claimedAt:e.date("claimed_at"),actsUntil:e.dateOrNull("acts_until"),parentRunId:e.textOrNull("parent_run_id")}}s(Pf,"claimedRun");var AS=y("journal.append",`
with ${Z(ee)}, entry as (
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
  and (select count(*) from effect) >= 0`),RS=_("journal.entry-of-call",`
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_text, j.result_digest, j.tries
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`),$S=_("journal.read",`
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at, coalesce(j.stored_for, j.run_id) as stored_for
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.ordinal > $3
order by j.ordinal`),OS=_("journal.outline",`
select j.ordinal, j.scope, j.kind, j.name, j.nth, j.outcome, j.tries, j.seq, j.started_at, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.ordinal > $3
order by j.ordinal`);async function Mf(t,e,n=0){return(await t.run(OS,[e.tenantId,e.runId,n])).map(o=>{let i=g(o);return{ordinal:i.number("ordinal"),scope:i.text("scope"),kind:i.text("kind"),name:i.text("name"),nth:i.number("nth"),outcome:i.text("outcome"),tries:i.number("tries"),seq:i.number("seq"),startedAt:i.date("started_at"),completedAt:i.date("completed_at")}})}s(Mf,"readOutline");async function jf(t,e,n){let r=await Sa(t,e,n);if(r!==null)return r;let o=await Aa(t,e,n);return o!==null&&o.token===e.token&&o.outcome===n.outcome&&o.resultDigest===n.resultDigest?{ordinal:o.ordinal,completedAt:o.completedAt}:null}s(jf,"appendEntryIfClaimed");async function Sa(t,e,n){let[r]=await t.run(AS,[e.tenantId,e.runId,e.seq,e.token,...dt(n),n.outcome,n.resultText,n.resultDigest,n.tries,n.tookMs,n.resultBytes,n.closesIntent??!1]);return r===void 0?null:zf(r)}s(Sa,"appendOnce");async function Aa(t,e,n){let[r]=await t.run(RS,[e.tenantId,e.runId,...dt(n)]);if(r===void 0)return null;let o=g(r);return{...zf(r),token:o.text("token"),outcome:o.text("outcome"),resultText:o.textOrNull("result_text"),resultDigest:o.textOrNull("result_digest"),tries:o.number("tries")}}s(Aa,"readEntryOfCall");function zf(t){let e=g(t);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}s(zf,"appended");async function Ff(t,e,n=0){return(await t.run($S,[e.tenantId,e.runId,n])).map(o=>{let i=g(o);return{ordinal:i.number("ordinal"),...ut(o),outcome:i.text("outcome"),resultText:i.textOrNull("result_text"),resultDigest:i.textOrNull("result_digest"),tries:i.number("tries"),seq:i.number("seq"),token:i.text("token"),storedFor:i.text("stored_for"),startedAt:i.date("started_at"),completedAt:i.date("completed_at")}})}s(Ff,"readJournal");var Gf=s((t,e)=>`
  (select ${t} as due_at
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
      and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.quarantined_at is null and ${Dn("run")})
        or (d.cause = 'contain' and run.status in (${I(X)})
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
  (select a.due_at
  from ghouls.arms a
  join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
  where a.closed_at is null and a.due_at is not null and run.status in (${I(at)})
    and run.quarantined_at is null
  order by a.due_at
  limit 1)
  union all
  (select c.next_look_at
  from ghouls.consents c
  where c.status = 'PENDING' and c.source is not null
  order by c.next_look_at
  limit 1)
  union all
  (select t.next_look_at
  from ghouls.attempts t
  where t.status not in (${I(Re)})
  order by t.next_look_at
  limit 1)
  union all
  (select e.ended_at
  from ghouls.child_ends e
  order by e.ended_at
  limit 1)
  union all
  select act.due_at
  from unnest(array['record', 'checkpoints', 'seal', 'doubt']) as kinds(act)
  cross join lateral (
    select e.due_at
    from ghouls.end_acts e
    where e.act = kinds.act
    order by e.due_at
    limit 1
  ) as act
  union all
  (select run.deadline_at
  from ghouls.runs run
  where run.deadline_at is not null and run.status in (${I(Uo)}) and run.quarantined_at is null
    and ${ha}
  order by run.deadline_at
  limit 1)
  union all
  ${e}
  union all
  (select ghouls.clock()
  from ghouls.runs run
  where run.status in (${I(X)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
  order by run.created_at
  limit 1)`,"dueOf"),DS=`select aside.next_turn_at
  from unnest($1::text[]) as p(pass)
  cross join lateral (
    select g.next_turn_at from ghouls.degraded_owners g where g.pass = p.pass order by g.next_turn_at limit 1
  ) as aside`,PS=_("ledger.next-look",`
select extract(epoch from min(due.due_at) - ghouls.clock())::double precision as due_in
from (${Gf("ghouls.clock()",DS)}
) as due`),NS=_("ledger.health",`
select extract(epoch from ghouls.clock() - least(
    (select min(due.due_at) from (${Gf("d.lease_until","select min(g.degraded_at) from ghouls.degraded_owners g")}
    ) as due),
    (select min(fault.found_at) from ghouls.integrity_faults fault where ${Cr("fault")})
  ))::double precision as oldest,
  (select count(*)::integer from (select from ghouls.degraded_owners g limit 1000) as few) as degraded,
  (select count(*)::integer from (
    select from ghouls.runs run where run.attention_at is not null or run.quarantined_at is not null limit 1000) as few) as attention,
  (select count(*)::integer from (
    select from ghouls.runs run where (run.attention_at is not null or run.quarantined_at is not null)
      and run.quarantined_at is not null limit 1000) as few) as quarantined,
  (select count(*)::integer from (
    select from ghouls.integrity_faults fault where ${Cr("fault")} limit 1000) as few) as faults,
  (select count(*)::integer from (select from ghouls.dead_letters letter limit 1000) as few) as letters`);async function Uf(t){let[e]=await t.run(PS,[ot]);return e===void 0?null:g(e).numberOrNull("due_in")}s(Uf,"readNextLook");async function Wf(t){let[e]=await t.run(NS,[]),n=g(e??{});return{oldestUnrepairedSeconds:Math.max(0,n.numberOrNull("oldest")??0),degradedOwners:n.number("degraded"),runsWithAttention:n.number("attention"),quarantinedRuns:n.number("quarantined"),integrityFaults:n.number("faults"),foreignDeadLetters:n.number("letters")}}s(Wf,"readHealth");var qS=y("consents.open",`
insert into ghouls.consents (tenant_id, run_id, consent_id, arm_id, status, title, request_text, stored_digest, request_digest,
  deciders, quorum, requester_may_decide, on_expiry, source, next_look_at, created_at, expires_at)
select a.tenant_id, a.run_id, $4, a.arm_id, 'PENDING', $5, $6, $7, $8, $9::text[], $10, $11, $12, $13,
  case when $13::text is null then null else a.created_at end, a.created_at, a.due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning consent_id`),TS=y("attempts.open",`
insert into ghouls.attempts (tenant_id, run_id, attempt_id, arm_id, call_key, status, service, adapter, adapter_version,
  service_digest, lookup, submit, cancel, delay_seconds, poll_seconds, heartbeat_seconds, request_text, stored_digest,
  request_digest, idempotency_key, deadline_at, next_look_at, created_at, remembers_seconds)
select a.tenant_id, a.run_id, $4, a.arm_id, json_build_array(a.epoch, a.scope, a.kind, a.name, a.nth)::text, 'DEFINED', $5, $6,
  $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, a.created_at + $19::double precision * interval '1 second',
  a.created_at + $20::double precision * interval '1 second', a.created_at, $21::double precision
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning attempt_id`);async function Bf(t,e,{armId:n,consent:r,attempt:o},i){r!==void 0&&await LS(t,e,n,r),o!==void 0&&await MS(t,e,n,o,i.publisherGraceSeconds)}s(Bf,"openOwner");async function LS(t,e,n,r){await t.run(qS,[e.tenantId,e.runId,n,r.consentId,r.title,r.requestText,r.storedDigest,r.requestDigest,r.deciders,r.quorum,r.requesterMayDecide,r.onExpiry,r.source])}s(LS,"openConsent");async function MS(t,e,n,r,o){let{traits:i}=r;await t.run(TS,[e.tenantId,e.runId,n,r.attemptId,r.service,r.adapter,r.adapterVersion,r.serviceDigest,i.lookup,i.submit,i.cancel,i.delaySeconds,r.pollSeconds,r.heartbeatSeconds,r.requestText,r.storedDigest,r.requestDigest,r.idempotencyKey,r.deadlineSeconds,o,i.remembersSeconds??null])}s(MS,"openAttempt");var Kf=y("arms.open",`
with ${Z(ee)}, wanted as materialized (
  select q.* from unnest($6::uuid[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::integer[], $12::text[],
    $13::timestamptz[], $14::integer[], $15::double precision[])
    as q(arm_id, epoch, scope, kind, name, nth, owner, due_at, tries, due_in)
)
insert into ghouls.arms as a (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, due_at, tries,
  created_at)
select held.tenant_id, held.run_id, w.arm_id, w.epoch, w.scope, w.kind, w.name, w.nth, w.owner, held.generation + 1, held.seq,
  coalesce(w.due_at, ghouls.clock() + w.due_in * interval '1 second'), w.tries, ghouls.clock()
from held cross join wanted w
where held.journal_length = $5
on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null
do update set generation = excluded.generation,
  due_at = case when excluded.tries > a.tries then excluded.due_at else a.due_at end,
  tries = greatest(a.tries, excluded.tries)
returning a.arm_id`),jS=y("arms.close-steps",`
update ghouls.arms a
set closed_at = ghouls.clock(), closing = 'step'
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null and a.kind = 'step' and a.generation < $3
returning a.arm_id`),zS=y("deliveries.park",`
with ${Z(ee)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'parked', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = $8, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.generation, run.status, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
), wait as (
  insert into ghouls.waits (tenant_id, run_id, generation, seq, opened_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, moved.settled_at
  from moved
  returning run_id
)
select moved.status
from moved
join checkpoint on checkpoint.run_id = moved.run_id
join wait on wait.run_id = moved.run_id`),FS=y("deliveries.continue",`
with ${Z(ee)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0
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
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $8::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),GS=_("deliveries.parked",`
select d.outcome, run.status, next.seq, next.queue
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
left join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED'
  and d.outcome in ('parked', 'continued')`);async function Hf(t,e,n,r,o){return t.transaction("deliveries.park",async i=>{await O(i,[e]);let a=await i.run(Kf,[...Dr(e),n.journalLength,...Vf(r)]);if(a.length!==r.length)return BS(i,e);let d=new Set(a.map(b=>g(b).text("arm_id")));for(let b of r)d.has(b.armId)&&await Bf(i,e,b,o);let u=await Or(i,e),l=Math.max(...u.map(b=>b.generation));await i.run(jS,[e.tenantId,e.runId,l]);let c=u.filter(b=>b.generation===l||b.call.kind!=="step"),m=US(c,l,r);if(m!==void 0)throw new Ho(m.what,m);let f=[n.workflowDigest,n.journalLength,n.journalDigest],p=await na(i,e);if(p.length===0){let b=Li(c.map(({owner:A})=>A)),[E]=await i.run(zS,[...Dr(e),...f,b]);if(E===void 0)throw new TypeError("a run that is locked and held was not parked");return{kind:"parked",status:b,arms:c}}await ra(i,e,e.seq,p);let[h]=await i.run(FS,[...Dr(e),...f,o.publisherGraceSeconds]);if(h===void 0)throw new TypeError("a run that is locked and held was not continued");return{kind:"continued",next:Ot(h)}}).catch(i=>{if(i instanceof Ho)return{kind:"mismatch",...i.problem};throw i})}s(Hf,"parkIfClaimed");async function Jf(t,e,n,r,o){return t.transaction("deliveries.yield-standing",async i=>{await O(i,[e]);let a=await i.run(Kf,[...Dr(e),n.journalLength,...Vf(r)]),d=await To(i,e,n,o);if(d===null&&a.length>0)throw new TypeError("a run that is locked and held was not handed over");return d})}s(Jf,"yieldStandingIfClaimed");var Ho=class extends Error{static{s(this,"Mismatch")}problem;constructor(e,n){super(e),this.problem=n}};function US(t,e,n){let r=t.find(o=>o.generation<e);if(r!==void 0)return{what:`${r.call.kind} "${r.call.name}" stands open, but the code does not ask for it any more`};for(let{call:o,consent:i,attempt:a}of n){let d=i??a,u=d&&t.find(l=>WS(l.call,o));if(u!==void 0&&u.requestDigest!==null&&u.requestDigest!==d?.requestDigest)return{what:`the ${o.kind} "${o.name}" was frozen with another request than the code asks for now`,key:G(o),ownerId:u.consentId??u.attemptId??""}}}s(US,"mismatchOf");function WS(t,e){return t.epoch===e.epoch&&t.scope===e.scope&&t.kind===e.kind&&t.name===e.name&&t.nth===e.nth}s(WS,"sameCall");async function BS(t,e){let[n]=await t.run(GS,Dr(e));if(n===void 0)return null;let r=g(n);return r.text("outcome")==="continued"?{kind:"continued",next:Ot(n)}:{kind:"parked",status:r.text("status"),arms:await Or(t,e)}}s(BS,"answerOfEarlierTry");function Vf(t){return[t.map(({armId:e})=>e),t.map(({call:e})=>e.epoch),t.map(({call:e})=>e.scope),t.map(({call:e})=>e.kind),t.map(({call:e})=>e.name),t.map(({call:e})=>e.nth),t.map(({owner:e})=>e),t.map(({dueAt:e})=>e),t.map(({tries:e})=>e),t.map(({consent:e})=>e?.expiresInSeconds??null)]}s(Vf,"columnsOf");function Dr(t){return[t.tenantId,t.runId,t.seq,t.token]}s(Dr,"keyOf");var qn="p.pause_id, p.scope, p.tenant_id, p.workflow, p.actor, p.reason, p.at",HS=y("pauses.set",`
insert into ghouls.pauses as p (pause_id, scope, tenant_id, workflow, actor, reason, at)
select q.pause_id, q.scope, q.tenant_id, q.workflow, coalesce(q.actor, 'database role ' || session_user), q.reason, ghouls.clock()
from unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[])
  as q(tenant_id, workflow, scope, pause_id, actor, reason)
on conflict (coalesce(tenant_id, ''), coalesce(workflow, '')) where lifted_at is null do nothing
returning ${qn}`),JS=_("pauses.of-target",`
select ${qn}
from ghouls.pauses p
where ${Cn.tenant} = coalesce($1::text, '') and ${Cn.workflow} = coalesce($2::text, '') and p.lifted_at is null`),VS=_("pauses.of-tenant",`
select ${qn}
from ghouls.pauses p
where p.lifted_at is null and ${Cn.tenant} = any(array[$1::text, ''])
order by p.at, p.pause_id`),YS=_("pauses.all",`
select ${qn}
from ghouls.pauses p
where p.lifted_at is null
order by p.at, p.pause_id
limit $1`),QS=y("pauses.lift",`
update ghouls.pauses p
set lifted_at = ghouls.clock(), lifted_by = coalesce($2::text, 'database role ' || session_user), lift_reason = $3
where p.pause_id = $1 and p.lifted_at is null
returning ${qn}`),XS=_("pauses.by-id",`
select ${qn}
from ghouls.pauses p
where p.pause_id = $1`);async function Yf(t,e){let{pauseId:n,scope:r,tenantId:o,workflow:i,actor:a,reason:d}=e;for(let u=0;u<5;u+=1){let l=[o,i,r,n,a,d].map(f=>[f]),[c]=await t.run(HS,l);if(c!==void 0)return{created:!0,pause:Tn(c)};let m=await Ra(t,e);if(m!==null)return{created:m.pauseId===n,pause:m}}throw new x("ledger_unavailable","the pause is lifted as fast as it is set; nothing was written",{fix:"Set it again.",retryAfterSeconds:1})}s(Yf,"setPause");async function Ra(t,{tenantId:e,workflow:n}){let[r]=await t.run(JS,[e,n]);return r===void 0?null:Tn(r)}s(Ra,"findPause");async function Qf(t,e){return(await t.run(VS,[e])).map(Tn)}s(Qf,"readPausesOfTenant");async function Xf(t,e){return(await t.run(YS,[e])).map(Tn)}s(Xf,"readPauses");async function $a(t,e){let[n]=await t.run(XS,[e]);return n===void 0?null:Tn(n)}s($a,"readPause");async function Zf(t,e,n){let[r]=await t.run(QS,[e,n.actor,n.reason]);if(r!==void 0)return{lifted:!0,pause:Tn(r)};let o=await $a(t,e);return o===null?null:{lifted:!1,pause:o}}s(Zf,"liftPause");function Tn(t){let e=g(t);return{pauseId:e.text("pause_id"),scope:e.text("scope"),tenantId:e.textOrNull("tenant_id"),workflow:e.textOrNull("workflow"),by:e.text("actor"),reason:e.text("reason"),at:e.date("at")}}s(Tn,"pauseOf");var eA=y("runs.pause",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.paused_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)
update ghouls.runs run
set paused_at = ghouls.clock(), paused_by = $3, pause_reason = $4
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and r.paused_at is null and r.status in (${I(Ge)})
returning run.status`),tA=y("runs.unpause",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.paused_at is not null
  for update
), due as (
  update ghouls.deliveries d
  set next_publication_at = greatest(d.due_at, ghouls.clock())
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status = 'PENDING'
  returning d.tenant_id, d.run_id, d.seq, d.queue, d.due_at
), unpaused as (
  update ghouls.runs run
  set paused_at = null, paused_by = null, pause_reason = null, workflow_absent_since = null
  from r
  where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  returning run.tenant_id, run.run_id, run.workflow_name, run.status, run.quarantined_at, run.paused_at
)
select run.status, due.seq, due.queue,
  due.due_at <= ghouls.clock() and run.quarantined_at is null and not ${Ct("run")} as goes_on
from unpaused run
left join due on due.tenant_id = run.tenant_id and due.run_id = run.run_id`);async function ep(t,e,n){return t.transaction("runs.pause",async r=>{let o=(await O(r,[e])).get(e.runId);if(o===void 0)return null;let[i]=await r.run(eA,[e.tenantId,e.runId,n.actor,n.reason]);return i===void 0?{paused:!1,status:o}:(await Ee(r,e,{...n,act:"pause",subject:"run"}),{paused:!0,status:o})})}s(ep,"pauseRun");async function tp(t,e,n){return t.transaction("runs.unpause",async r=>{let o=(await O(r,[e])).get(e.runId);if(o===void 0)return null;let[i]=await r.run(tA,[e.tenantId,e.runId]);if(i===void 0)return{unpaused:!1,status:o,resumption:null};await Ee(r,e,{...n,act:"unpause",subject:"run"});let a=g(i),[d,u]=[a.numberOrNull("seq"),a.textOrNull("queue")],l=d!==null&&u!==null&&a.boolean("goes_on"),{tenantId:c,runId:m}=e;return{unpaused:!0,status:o,resumption:l?{tenantId:c,runId:m,enqueueSeq:d,queue:u}:null}})}s(tp,"unpauseRun");var rA=_("runs.open-of-pins",`
select run.workflow_name, run.workflow_version, run.workflow_digest, count(*)::integer as runs
from ghouls.runs run
where run.tenant_id = $1 and run.status in (${I(fe)})
  and (run.workflow_name, run.workflow_version, run.workflow_digest) in (
    select q.name, q.version, q.digest
    from unnest($2::text[], $3::integer[], $4::text[]) as q(name, version, digest))
group by run.workflow_name, run.workflow_version, run.workflow_digest`);async function np(t,e,n){return n.length===0?[]:(await t.run(rA,[e,...sA(n)])).map(o=>({...op(o),runs:g(o).number("runs")}))}s(np,"countOpenRunsOfPins");var oA=_("runs.stranded",`
with stranded as materialized (
  select run.run_id, run.status, run.workflow_name, run.workflow_version, run.workflow_digest, run.created_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.status in (${I(fe.filter(t=>!X.includes(t)))})
    and (run.workflow_name, run.workflow_digest) not in (
      select q.name, q.digest
      from unnest($2::text[], $3::text[]) as q(name, digest))
    and ${Nn("run")}
)
select s.run_id, s.status, s.workflow_name, s.workflow_version, s.workflow_digest, count(*) over ()::integer as runs
from stranded s
order by s.created_at desc, s.run_id desc
limit $4`);async function rp(t,e,n,r){let o=await t.run(oA,[e,n.map(({name:a})=>a),n.map(({digest:a})=>a),r]),[i]=o;return{runs:o.map(a=>({runId:g(a).text("run_id"),status:g(a).text("status"),workflow:op(a)})),count:i===void 0?0:g(i).number("runs")}}s(rp,"readStrandedRuns");function sA(t){return[t.map(e=>e.name),t.map(e=>e.version),t.map(e=>e.digest)]}s(sA,"columnsOf");function op(t){let e=g(t);return{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")}}s(op,"pinOf");var sp=`((d.cause <> 'contain' and run.status = 'QUEUED' and run.quarantined_at is null and ${Dn("run")})
      or (d.cause = 'contain' and run.status in (${I(X)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))`,Oa="100000000000000000",aA={page:_("deliveries.due-publications",`
select due.*, (9 - due.priority) * ${Oa} + (extract(epoch from due.next_publication_at) * 1000000)::bigint as micros
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and ${An("d.next_publication_at")}
    and (d.next_publication_at, d.run_id) > (
      case sign(9 - p.priority - $2::bigint / ${Oa})
        when 1 then timestamptz 'epoch'
        when 0 then timestamptz 'epoch' + ($2::bigint % ${Oa}) * interval '1 microsecond'
        else timestamptz 'infinity' end, $3::uuid)
    and ${sp}
  order by d.next_publication_at, d.run_id
  limit $1
) as due
order by due.priority desc, due.next_publication_at, due.run_id
limit $1`),named:_("deliveries.due-publications-named",`
select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, 0::bigint as micros
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
where run.run_id = any($2::uuid[]) and d.status = 'PENDING' and ${ta("d.next_publication_at")}
  and ${sp}
order by d.run_id
limit $1`)},dA=`greatest(ghouls.clock(), d.due_at) + case
    when d.status = 'PENDING' and d.cause <> 'contain' and exists (
      select from ghouls.runs run
      where run.tenant_id = d.tenant_id and run.run_id = d.run_id and ${Ct("run")})
    then interval '0 seconds'
    else ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second' end`,ip=`publications = d.publications + 1, publication_failures = 0, publication_error = null,
  published_at = coalesce(d.published_at, ghouls.clock()),
  next_publication_at = ${dA}`,uA=y("deliveries.mark-published",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set ${ip}
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`),lA=y("deliveries.mark-relayed",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq, q.pass, q.rule, q.before_state
  from unnest($1::text[], $2::uuid[], $3::integer[], $5::integer[], $6::text[], $7::text[], $8::text[])
    as q(tenant_id, run_id, seq, publications, pass, rule, before_state)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  where d.publications = q.publications
  order by d.tenant_id, d.run_id, d.seq
  for update of d
), published as (
  update ghouls.deliveries d
  set ${ip}
  from marked
  where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
  returning d.tenant_id, d.run_id, d.seq, d.publications, d.status, marked.pass, marked.rule, marked.before_state
)
insert into ghouls.repairs (tenant_id, run_id, repair_id, pass, rule, before_state, after_state, at)
select p.tenant_id, p.run_id, gen_random_uuid(), p.pass, p.rule, p.before_state,
  concat('delivery ', p.seq, ' ', p.status, ' published ', p.publications, ' times'), ghouls.clock()
from published p
returning run_id`),cA=y("deliveries.mark-publication-failed",`
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
returning d.run_id, d.publication_failures`),mA=y("deliveries.mark-skipped-as-paused",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
  join ghouls.runs run on run.run_id = q.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set next_publication_at = least(d.next_publication_at, greatest(d.due_at, ghouls.clock()))
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq and d.status = 'PENDING'
returning d.run_id`);async function ap(t,e){let n=await xe(t,aA,e);return be(n,e.limit,r=>{let o=g(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),enqueueSeq:o.number("seq"),queue:o.text("queue"),publications:o.number("publications"),priority:o.number("priority")}})}s(ap,"readDuePublications");async function dp(t,e,n=ur.afterSuccess){return e.length===0?0:(await t.run(uA,[...Ca(e),n])).length}s(dp,"markPublished");async function up(t,e,n=ur.afterSuccess){if(e.length===0)return new Set;let r=await t.run(lA,[...Ca(e),n,e.map(o=>o.publications),e.map(({repair:o})=>o.pass),e.map(({repair:o})=>o.rule),e.map(({repair:o})=>o.before.slice(0,ko))]);return new Set(r.map(o=>g(o).text("run_id")))}s(up,"markRelayed");async function lp(t,e,n=ur.afterFailure){if(e.length===0)return 0;let r=e.map(i=>i.publication),o=e.map(i=>i.reason.slice(0,500).replaceAll("\0",""));return(await t.run(cA,[...Ca(r),n,o])).length}s(lp,"markPublicationFailed");async function cp(t,e){if(e.length===0)return 0;let n=[e.map(({runId:r})=>r),e.map(({enqueueSeq:r})=>r)];return(await t.run(mA,n)).length}s(cp,"markSkippedAsPaused");function Ca(t){return[t.map(e=>e.tenantId),t.map(e=>e.runId),t.map(e=>e.enqueueSeq)]}s(Ca,"arrays");var pA=y("runs.clear-quarantine",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.quarantined_at is not null
  for update
), due as (
  update ghouls.deliveries d
  set next_publication_at = greatest(d.due_at, ghouls.clock())
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status = 'PENDING'
  returning d.tenant_id, d.run_id, d.seq, d.queue
)
update ghouls.runs run
set quarantined_at = null, quarantine_reason = null
from r
left join due on due.tenant_id = r.tenant_id and due.run_id = r.run_id
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
returning run.status, due.seq, due.queue`),gA=y("runs.contain-again",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(X)}) and ${xo}
  for update
), due as (
  update ghouls.containment_items i
  set next_look_at = ghouls.clock()
  from r
  where i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.kind in ('effect', 'undo') and i.acknowledged_at is null
  returning i.tenant_id, i.run_id
), delivery_due as (
  update ghouls.deliveries d
  set due_at = ghouls.clock(), next_publication_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.cause = 'contain' and d.status = 'PENDING'
  returning d.run_id
)
update ghouls.runs run
set contain_from = ghouls.clock(), attention_reason = null, attention_at = null
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and exists (select from due) and (select count(*) from delivery_due) >= 0
returning run.status`);async function mp(t,e,n,r){return t.transaction("runs.clear-quarantine",async o=>{let i=(await O(o,[e])).get(e.runId);if(i===void 0)return null;let[a]=await o.run(pA,[e.tenantId,e.runId]);if(a===void 0){let p=(await o.run(gA,[e.tenantId,e.runId])).length===1;return p&&await Ee(o,e,{...n,act:"clear",subject:"containment"}),{cleared:p,status:i,resumption:null}}await Ee(o,e,{...n,act:"clear",subject:"quarantine"});let d=await ke(o,e);if(d!==null)return{cleared:!0,status:d,resumption:null};let u=await Ze(o,e,r);if(u!==null)return{cleared:!0,status:"QUEUED",resumption:u};let l=g(a),[c,m]=[l.numberOrNull("seq"),l.textOrNull("queue")],f=c===null||m===null?null:{...e,enqueueSeq:c,queue:m};return{cleared:!0,status:l.text("status"),resumption:f}})}s(mp,"clearRun");var _A=I(Pe("run")),Da=["FAILED","CANCELLED"],fp=s((t,e)=>`${t}.epoch = ${e}.epoch and ${t}.scope = ${e}.scope and ${t}.kind = ${e}.kind and ${t}.name = ${e}.name and ${t}.nth = ${e}.nth`,"sameCall"),yA=s(t=>`(exists (
      select from ghouls.intents x
      where x.tenant_id = ${t}.tenant_id and x.run_id = ${t}.run_id and (x.outcome is null or x.outcome in ('happened', 'resolved')))
    or exists (
      select from ghouls.journal x
      where x.tenant_id = ${t}.tenant_id and x.run_id = ${t}.run_id and x.kind = 'transaction' and x.outcome = 'ok')
    or exists (
      select from ghouls.attempts x
      where x.tenant_id = ${t}.tenant_id and x.run_id = ${t}.run_id and x.status not in ('FAILED', 'CANCELLED'))
    or exists (
      select from ghouls.runs x
      where x.tenant_id = ${t}.tenant_id and x.parent_run_id = ${t}.run_id))`,"acted"),wA=`(select u.name
    from ghouls.steps_to_undo u
    where u.tenant_id = r.tenant_id and u.run_id = r.run_id
    order by u.name limit 1)`,bA=_("redrives.judge",`
with r as materialized (
  select run.tenant_id, run.run_id, run.epoch, run.journal_start, run.journal_length, run.parent_run_id,
    run.quarantined_at is not null as quarantined, run.input_text is null as input_gone
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
), failed_call as materialized (
  select distinct a.epoch, a.scope, a.kind, a.name, a.nth
  from r
  join ghouls.arms a on a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.epoch = r.epoch
  left join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
  left join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
  where t.status in ('FAILED', 'CANCELLED') or child.status in ('FAILED', 'CANCELLED')
), entry as materialized (
  select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome,
    j.result_text is null and j.result_digest is not null as emptied,
    j.outcome = 'error' or (j.kind = 'reserve' and j.result_text = $3) or failed_call.kind is not null as failed
  from r
  join ghouls.journal j on j.tenant_id = r.tenant_id and j.run_id = r.run_id and j.ordinal > r.journal_start
  left join failed_call on ${fp("failed_call","j")}
), cut as materialized (
  select coalesce((select min(entry.ordinal) from entry where entry.failed), r.journal_length + 1) as ordinal
  from r
), kept as materialized (
  select entry.* from entry join cut on entry.ordinal < cut.ordinal
), resolved as materialized (
  select i.epoch, i.scope, i.kind, i.name, i.nth, i.outcome, item.acknowledged_by, item.acknowledgement
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id
  left join ghouls.containment_items item
    on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'effect' and item.key = ${it}
), done as materialized (
  select i.epoch, i.scope, i.kind, i.name, i.nth
  from resolved i
  where i.outcome = 'happened'
    or (i.outcome = 'resolved' and i.acknowledged_by = 'probe' and i.acknowledgement = 'it has happened')
  union all
  select entry.epoch, entry.scope, entry.kind, entry.name, entry.nth
  from entry
  where entry.kind = 'transaction' and entry.outcome = 'ok'
  union all
  select a.epoch, a.scope, a.kind, a.name, a.nth
  from r
  join ghouls.arms a on a.tenant_id = r.tenant_id and a.run_id = r.run_id
  join ghouls.attempts t on t.tenant_id = a.tenant_id and t.run_id = a.run_id and t.arm_id = a.arm_id
  where t.status = 'SUCCEEDED'
  union all
  select a.epoch, a.scope, a.kind, a.name, a.nth
  from r
  join ghouls.arms a on a.tenant_id = r.tenant_id and a.run_id = r.run_id
  join ghouls.runs child on child.tenant_id = a.tenant_id and child.parent_run_id = a.run_id and child.parent_arm_id = a.arm_id
  where child.status = 'DONE' or ${yA("child")}
)
select r.parent_run_id, r.quarantined, r.input_gone, cut.ordinal as cut,
  (select entry.kind from entry where entry.ordinal = cut.ordinal) as cut_kind,
  (select entry.name from entry where entry.ordinal = cut.ordinal) as cut_name,
  (select count(*) from kept)::integer as entries,
  cut.ordinal - r.journal_start - 1 <> (select count(*) from kept)
    or exists (select from kept where kept.emptied) as journal_gone,
  (select i.name from resolved i
    where i.outcome is null or (i.outcome = 'resolved' and i.acknowledged_by is distinct from 'probe')
    order by i.name limit 1) as unknown_effect,
  (select a.name
    from ghouls.attempts t
    join ghouls.arms a on a.tenant_id = t.tenant_id and a.run_id = t.run_id and a.arm_id = t.arm_id
    where t.tenant_id = r.tenant_id and t.run_id = r.run_id
      and (t.status not in (${I(Re)}) or t.contradiction is not null or starts_with(t.closed_by, 'operator'))
    order by a.name limit 1) as unknown_job,
  (select child.run_id
    from ghouls.runs child
    where child.tenant_id = r.tenant_id and child.parent_run_id = r.run_id and child.status not in (${_A})
    order by child.run_id limit 1) as open_child,
  ${wA} as undone_step,
  (select done.name from done
    where done.epoch = r.epoch and not exists (select from kept where ${fp("kept","done")})
    order by done.name limit 1) as done_behind,
  next.run_id as redriven_as, next.status as redriven_status,
  exists (
    select from ghouls.audit word
    where word.tenant_id = r.tenant_id and word.run_id = r.run_id and word.act = 'redrive' and word.actor = $4 and word.reason = $5) as same_word
from r
cross join cut
left join ghouls.runs next on next.tenant_id = r.tenant_id and next.redrive_of = r.run_id`),pp=["not_ended","quarantined","child_run","child_open","effect_unknown","job_unknown","undone","body_gone","done_behind"],kA=JSON.stringify({outcome:"UNAVAILABLE"});async function gp(t,e,n,r){let[o]=await t.run(bA,[e.tenantId,e.runId,kA,r.actor,r.reason]),i=g(o??{}),a=i.textOrNull("redriven_as");if(a!==null){let b=i.text("redriven_status");return{kind:"redriven_before",runId:a,status:b,sameWord:i.boolean("same_word")}}let d=i.textOrNull("parent_run_id"),u=i.textOrNull("open_child"),[l,c]=[i.textOrNull("unknown_effect"),i.textOrNull("unknown_job")],[m,f]=[i.textOrNull("undone_step"),i.textOrNull("done_behind")],p=s((b,E=null)=>({kind:"refused",why:b,about:E}),"refused");if(!Da.includes(n))return p("not_ended",n);if(i.boolean("quarantined"))return p("quarantined");if(d!==null)return p("child_run",d);if(u!==null)return p("child_open",u);if(l!==null)return p("effect_unknown",l);if(c!==null)return p("job_unknown",c);if(m!==null)return p("undone",m);if(i.boolean("input_gone"))return p("body_gone","its input");if(i.boolean("journal_gone"))return p("body_gone","its journal");if(f!==null)return p("done_behind",f);let h=i.textOrNull("cut_kind");return{kind:"cut",ordinal:i.number("cut"),entries:i.number("entries"),call:h===null?null:{kind:h,name:i.text("cut_name")}}}s(gp,"judgeRedrive");var xA=y("redrives.make",`
with old as materialized (
  select run.*
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(Da)}) and run.quarantined_at is null
  for update
), kept as materialized (
  select j.*, j.ordinal - old.journal_start as place
  from old
  join ghouls.journal j on j.tenant_id = old.tenant_id and j.run_id = old.run_id and j.ordinal > old.journal_start and j.ordinal < $4
), made as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, redrive_of, request_digest, workflow_name, workflow_version,
    workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest,
    input_stored_for, deadline_at, created_at, starts_at, on_worker_loss, epoch, journal_length, journal_bytes)
  select old.tenant_id, $3, old.first_run_id, old.run_id, old.request_digest, old.workflow_name, $5, $6, old.queue, old.priority,
    old.agent, $7, array(select jsonb_array_elements_text($8::text::jsonb)), 'QUEUED', 1, old.input_text, old.input_digest,
    coalesce(old.input_stored_for, old.run_id), ghouls.clock() + $9::double precision * interval '1 millisecond', ghouls.clock(),
    coalesce(old.starts_at, old.created_at), $10, old.epoch, (select count(*) from kept),
    (select coalesce(sum(octet_length(kept.result_text)), 0) from kept)
  from old
  returning tenant_id, run_id, enqueue_seq, queue, priority, created_at
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
  select made.tenant_id, made.run_id, made.enqueue_seq, 'admitted', 'PENDING', made.queue, made.priority, made.created_at,
    made.created_at + $11::double precision * interval '1 second', made.created_at
  from made
  returning tenant_id, run_id, seq, queue
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at, stored_for)
  select delivery.tenant_id, delivery.run_id, kept.place, kept.epoch, kept.scope, kept.kind, kept.name, kept.nth, kept.outcome,
    kept.result_text, kept.result_digest, kept.tries, delivery.seq, kept.token, kept.started_at, kept.completed_at,
    coalesce(kept.stored_for, kept.run_id)
  from delivery
  join kept on kept.tenant_id = delivery.tenant_id
  returning run_id
), labeled as (
  insert into ghouls.labels (tenant_id, run_id, key, value, created_at)
  select made.tenant_id, made.run_id, label.key, label.value, made.created_at
  from made
  join ghouls.labels label on label.tenant_id = $1 and label.run_id = $2
  returning run_id
)
select delivery.seq, delivery.queue, (select count(*) from entry)::integer as entries
from delivery`),EA=y("releases.hold",`
select r.bundle_digest
from ghouls.releases r
where r.workflow_name = $1 and r.workflow_digest = $2 and r.removed_at is null
order by r.bundle_digest
for key share`);async function hp(t,e,n,r){return t.transaction("redrives.make",async o=>{let i=(await O(o,[e])).get(e.runId);if(i===void 0)return null;let a={actor:n.requestedBy,reason:n.reason},d=await gp(o,e,i,a);if(d.kind!=="cut")return d;if(n.release!==void 0){let{name:c,digest:m}=n.release;if((await o.run(EA,[c,m])).length===0)return{kind:"release_gone"}}let[u]=await o.run(xA,[e.tenantId,e.runId,n.runId,d.ordinal,n.workflow.version,n.workflow.digest,n.requestedBy,JSON.stringify(n.requestedRoles),n.deadlineMs,n.onWorkerLoss,r.publisherGraceSeconds]);await Ee(o,e,{...a,act:"redrive",subject:`run ${n.runId}`});let l=g(u??{});return{kind:"redriven",enqueueSeq:l.number("seq"),queue:l.text("queue"),cut:d}})}s(hp,"redriveRun");var Pa=`run.tenant_id, run.run_id, run.parent_run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.paused_by, run.pause_reason, run.deadline_at, run.starts_at,
  run.created_at, run.started_at, run.finished_at, run.redrive_of, (
    select next.run_id from ghouls.runs next
    where next.tenant_id = run.tenant_id and next.redrive_of = run.run_id) as redriven_as, (
    select coalesce(jsonb_object_agg(label.key, label.value), jsonb_build_object())::text from ghouls.labels label
    where label.tenant_id = run.tenant_id and label.run_id = run.run_id) as labels`,IA=_("runs.get",`
select ${Pa}, run.request_digest, run.input_text, run.input_digest,
  coalesce(run.input_stored_for, run.run_id) as input_stored_for, run.output_text, run.error_text,
  run.bodies_emptied_at
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),SA=_("runs.progress",`
select run.status, run.enqueue_seq, run.journal_length, run.error_code, run.created_at, run.finished_at,
  ghouls.clock() as now
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),AA=_("deliveries.of-run",`
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at,
  ${zo("d","run")} as fenced_why
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`);async function yp(t,e){let[n]=await t.run(IA,[e.tenantId,e.runId]);if(n===void 0)return null;let r=g(n);return{...Na(r),requestDigest:r.text("request_digest"),inputText:r.textOrNull("input_text"),inputDigest:r.text("input_digest"),inputStoredFor:r.text("input_stored_for"),outputText:r.textOrNull("output_text"),errorText:r.textOrNull("error_text"),bodiesEmptiedAt:r.dateOrNull("bodies_emptied_at")}}s(yp,"readRun");async function wp(t,e){let[n]=await t.run(SA,[e.tenantId,e.runId]);if(n===void 0)return null;let r=g(n);return{status:r.text("status"),enqueueSeq:r.number("enqueue_seq"),journalLength:r.number("journal_length"),errorCode:r.textOrNull("error_code"),createdAt:r.date("created_at"),finishedAt:r.dateOrNull("finished_at"),now:r.date("now")}}s(wp,"readProgress");var Jo=["100000000000000000","ffffffff-ffff-ffff-ffff-ffffffffffff"];function Vo(t){return`${g(t).text("created_micros")}.${g(t).text("run_id")}`}s(Vo,"cursorOf");function Yo(t){let e=/^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(t);if(e===null)throw new x("invalid_request","this cursor is not one of ours",{fix:"Pass nextCursor of the page before unchanged, or leave it out for the first page."});return[e[1],e[2]]}s(Yo,"parseCursor");async function bp(t,e){return(await t.run(AA,[e.tenantId,e.runId])).map(r=>{let o=g(r);return{seq:o.number("seq"),cause:o.text("cause"),status:o.text("status"),outcome:o.textOrNull("outcome"),dueAt:o.date("due_at"),createdAt:o.date("created_at"),publishedAt:o.dateOrNull("published_at"),publications:o.number("publications"),claimedAt:o.dateOrNull("claimed_at"),claimedBy:o.textOrNull("claimed_by"),leaseUntil:o.dateOrNull("lease_until"),workerEndedAt:o.dateOrNull("worker_ended_at"),workerEnd:o.textOrNull("worker_end"),settledAt:o.dateOrNull("settled_at"),fencedAt:o.dateOrNull("fenced_at"),fencedWhy:o.textOrNull("fenced_why"),holdExpiresAt:o.dateOrNull("hold_expires_at")}})}s(bp,"readDeliveries");function Na(t){return{tenantId:t.text("tenant_id"),runId:t.text("run_id"),parentRunId:t.textOrNull("parent_run_id"),redriveOf:t.textOrNull("redrive_of"),redrivenAs:t.textOrNull("redriven_as"),idempotencyKey:t.textOrNull("idempotency_key"),workflow:{name:t.text("workflow_name"),version:t.number("workflow_version"),digest:t.text("workflow_digest")},queue:t.text("queue"),priority:t.number("priority"),agent:t.textOrNull("agent"),labels:JSON.parse(t.text("labels")),requestedBy:t.text("requested_by"),status:t.text("status"),enqueueSeq:t.number("enqueue_seq"),journalLength:t.number("journal_length"),errorCode:t.textOrNull("error_code"),attention:_p(t,"attention_reason","attention_at"),quarantine:_p(t,"quarantine_reason","quarantined_at"),pause:RA(t),deadlineAt:t.dateOrNull("deadline_at"),createdAt:t.date("created_at"),startsAt:t.dateOrNull("starts_at"),startedAt:t.dateOrNull("started_at"),finishedAt:t.dateOrNull("finished_at")}}s(Na,"runOf");function _p(t,e,n){let r=t.textOrNull(e),o=t.dateOrNull(n);return r===null||o===null?null:{reason:r,at:o}}s(_p,"flag");function RA(t){let e=t.dateOrNull("paused_at");return e===null?null:{by:t.textOrNull("paused_by")??"unknown",reason:t.textOrNull("pause_reason")??"",at:e}}s(RA,"pauseOf");function Ln(t,e){return`(cardinality(${t}::text[]) = 0 or (
    select count(*) from ghouls.labels label
    join unnest(${t}::text[], ${e}::text[]) as wanted(key, value) on wanted.key = label.key and wanted.value = label.value
    where label.tenant_id = run.tenant_id and label.run_id = run.run_id) = cardinality(${t}::text[]))`}s(Ln,"hasLabels");function Mn(t={}){let e=Object.entries(t).toSorted(([n],[r])=>n<r?-1:1);return[e.map(([n])=>n),e.map(([,n])=>n)]}s(Mn,"labelValues");var qa=new Date(0),Ta=new Date("9999-12-31T00:00:00Z");function Qo({after:t=qa,before:e=Ta}){return[kp(t),kp(e)]}s(Qo,"timesOf");function kp(t){return t<qa?qa:t>Ta?Ta:t}s(kp,"within");var Ma="run.run_id, run.status, run.workflow_name, run.created_at, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros",ja=`run.tenant_id = $1
    and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)
    and run.created_at < $6::timestamptz and run.created_at >= $7::timestamptz
    and ($8::text is null or run.workflow_name = $8)
    and (not $9::boolean or run.attention_at is not null or run.quarantined_at is not null)`,La=`order by run.created_at desc, run.run_id desc
limit $4`,OA=_("runs.matching",`
select ${Ma}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run
  where ${ja}
    and run.status = wanted.status and run.status in (${I(fe)})
  ${La}
) as run
${La}`),CA=_("runs.matching-children",`
select ${Ma}
from ghouls.runs run
where ${ja}
    and run.status = any($5::text[]) and run.status in (${I(fe)}) and run.parent_run_id = $10::uuid
${La}`),DA=_("runs.matching-labeled",`
select ${Ma}
from ghouls.labels first
cross join lateral (
  select run.*
  from ghouls.runs run
  where ${ja}
    and run.status = any($5::text[]) and run.status in (${I(fe)}) and run.run_id = first.run_id
    and ($12::uuid is null or run.parent_run_id = $12) and ${Ln("$10","$11")}
  -- Not to be turned round: the first label drives it.
  offset 0
) as run
where first.tenant_id = $1 and first.key = ($10::text[])[1] and first.value = ($11::text[])[1]
  and (first.created_at, first.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)
order by first.created_at desc, first.run_id desc
limit $4`);async function xp(t,e,n,r){let[o,i]=r.cursor===void 0?Jo:Yo(r.cursor),[a,d]=Qo(n),u=[e,o,i,r.limit+1,n.status??fe,d,a,n.workflow??null,n.attention??!1],{parentRunId:l,labels:c={}}=n,m=await(Object.keys(c).length>0?t.run(DA,[...u,...Mn(c),l??null]):l===void 0?t.run(OA,u):t.run(CA,[...u,l])),f=m.slice(0,r.limit),p=f.at(-1);return{runs:f.map(h=>({runId:g(h).text("run_id"),status:g(h).text("status"),workflow:g(h).text("workflow_name")})),nextCursor:m.length>r.limit&&p!==void 0?Vo(p):null}}s(xp,"readMatchingRuns");var Xo=5e4,za=s((t,e)=>_(`runs.count-${t}`,`
with asked as (
  select ghouls.clock() - $2::integer * interval '1 second' as since
), looked as materialized (${e}
), bins as (
  select date_bin($4::integer * interval '1 second', l.created_at, a.since) as at, l.status, count(*)::integer as runs
  from looked l cross join asked a
  group by 1, 2
)
select a.since, (select count(*) from looked)::integer as looked, b.at, b.status, b.runs
from asked a left join bins b on true
order by b.at, b.status`),"counts"),Ep=`
  order by run.created_at desc, run.run_id desc
  limit $3`,NA={all:za("all",`
  select run.created_at, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.created_at >= (select since from asked) and $5::text is null
    and cardinality($6::text[]) + cardinality($7::text[]) = 0${Ep}`),workflow:za("workflow",`
  select run.created_at, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.workflow_name = $5 and run.created_at >= (select since from asked)
    and cardinality($6::text[]) + cardinality($7::text[]) = 0${Ep}`),label:za("label",`
  select found.created_at, found.status
  from ghouls.labels first
  cross join lateral (
    select run.created_at, run.status
    from ghouls.runs run
    where run.tenant_id = $1 and run.run_id = first.run_id and ($5::text is null or run.workflow_name = $5)
      and ${Ln("$6","$7")}
    offset 0
  ) as found
  where first.tenant_id = $1 and first.key = ($6::text[])[1] and first.value = ($7::text[])[1]
    and first.created_at >= (select since from asked)
  order by first.created_at desc, first.run_id desc
  limit $3`)};async function vp(t,e,n,r){let{workflow:o,labels:i={}}=n,a=Object.keys(i).length>0?"label":o===void 0?"all":"workflow",d=await t.run(NA[a],[e,r.seconds,Xo,r.bucketSeconds,o??null,...Mn(i)]),[u]=d;if(u===void 0)throw new Error("a count without a row");return{since:g(u).date("since"),complete:g(u).number("looked")<Xo,counts:d.flatMap(l=>{let c=g(l),m=c.dateOrNull("at");return m===null?[]:[{at:m,status:c.text("status"),runs:c.number("runs")}]})}}s(vp,"countRuns");var qA=_("runs.pinned",`
with open as materialized (
  select run.workflow_name, run.workflow_version, run.workflow_digest, run.created_at
  from unnest(array[${fe.map(t=>`'${t}'`).join(", ")}]) as wanted(status)
  cross join lateral (
    select run.workflow_name, run.workflow_version, run.workflow_digest, run.created_at
    from ghouls.runs run
    where run.tenant_id = $1 and run.status = wanted.status and run.status in (${I(fe)})
    order by run.created_at desc, run.run_id desc
    limit $2
  ) as run
), pins as (
  select o.workflow_name, o.workflow_version, o.workflow_digest, count(*)::integer as runs, min(o.created_at) as oldest_at
  from open o
  group by o.workflow_name, o.workflow_version, o.workflow_digest
)
select p.workflow_name, p.workflow_version, p.workflow_digest, p.runs, p.oldest_at,
  not (${Nn("p")}) as released, (select count(*) from open)::integer as looked
from pins p
order by p.workflow_name, p.workflow_version, p.workflow_digest`);async function Ip(t,e){let n=await t.run(qA,[e,Xo]),[r]=n;return{complete:r===void 0||g(r).number("looked")<Xo,pins:n.map(o=>{let i=g(o);return{name:i.text("workflow_name"),version:i.number("workflow_version"),digest:i.text("workflow_digest"),runs:i.number("runs"),oldestAt:i.date("oldest_at"),released:i.boolean("released")}})}}s(Ip,"countPinnedRuns");var Ga=`${Pa}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`,Ap="(timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)",Fa=`
order by run.created_at desc, run.run_id desc
limit $4`,Ua=`
where run.tenant_id = $1 and (run.created_at, run.run_id) < ${Ap}
  and run.created_at >= $5::timestamptz and run.created_at < $6::timestamptz
  and ($7::text[] is null or run.status = any($7))
  and ($8::text is null or run.workflow_name = $8)
  and ($9::uuid is null or run.parent_run_id = $9)
  and (not $10::boolean or run.attention_at is not null or run.quarantined_at is not null)
  and ${Ln("$11","$12")}`,Zo=s((t,e="")=>_(`runs.page-${t}`,`
select ${Ga}
from ghouls.runs run${Ua}${e}${Fa}`),"page"),Sp=s((t,e="")=>_(`runs.page-${t}`,`
select ${Ga}
from (select distinct q.status from unnest($7::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${Ua}
  and run.status = wanted.status${e}${Fa}
) as run${Fa}`),"pageOfStatuses"),en={parent:Zo("parent",`
  and run.parent_run_id = $9`),label:_("runs.page-label",`
select ${Ga}
from ghouls.labels first
cross join lateral (
  select run.*
  from ghouls.runs run${Ua} and run.run_id = first.run_id
  -- Not to be turned round: the first label drives it.
  offset 0
) as run
where first.tenant_id = $1 and first.key = ($11::text[])[1] and first.value = ($12::text[])[1]
  and (first.created_at, first.run_id) < ${Ap}
  and first.created_at >= $5::timestamptz and first.created_at < $6::timestamptz
order by first.created_at desc, first.run_id desc
limit $4`),attention:Zo("attention",`
  and (run.attention_at is not null or run.quarantined_at is not null)`),both:Sp("status-workflow",`
  and run.workflow_name = $8`),status:Sp("status"),workflow:Zo("workflow",`
  and run.workflow_name = $8`),all:Zo("all")};async function Rp(t,e,n,r){let[o,i]=r.cursor===void 0?Jo:Yo(r.cursor),a=await t.run(LA(n),[e,o,i,r.limit+1,...Qo(n),n.status??null,n.workflow??null,n.parentRunId??null,n.attention??!1,...Mn(n.labels)]),d=a.slice(0,r.limit),u=d.at(-1);return{runs:d.map(l=>Na(g(l))),nextCursor:a.length>r.limit&&u!==void 0?Vo(u):null}}s(Rp,"readRunPage");function LA({status:t,workflow:e,parentRunId:n,labels:r={},attention:o}){return n!==void 0?en.parent:Object.keys(r).length>0?en.label:o===!0?en.attention:t!==void 0?e===void 0?en.status:en.both:e===void 0?en.all:en.workflow}s(LA,"driverOf");var jA=B("run").filter(t=>t==="QUEUED"||t.startsWith("AWAITING_")&&t!=="AWAITING_HARDWARE"),zA=y("runs.repin",`
with r as materialized (
  select run.tenant_id, run.run_id, run.generation, run.enqueue_seq, run.workflow_absent_since
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(jA)})
    and run.quarantined_at is null and run.workflow_digest = $3 and run.workflow_digest <> $4
  for update
), checkpoint as (
  update ghouls.checkpoints c
  set workflow_digest = $4
  from r
  where c.tenant_id = r.tenant_id and c.run_id = r.run_id and c.generation = r.generation
  returning c.run_id
), due as (
  update ghouls.deliveries d
  set due_at = least(d.due_at, ghouls.clock()), next_publication_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq and d.status = 'PENDING'
    and r.workflow_absent_since is not null
  returning d.run_id
)
update ghouls.runs run
set workflow_digest = $4, workflow_absent_since = null
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from checkpoint) >= 0
  and (select count(*) from due) >= 0
returning run.run_id`),FA=_("runs.pin",`
select run.workflow_digest, run.quarantined_at is not null as quarantined
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function $p(t,e,n,r){return t.transaction("runs.repin",async o=>{let i=(await O(o,[e])).get(e.runId);if(i===void 0)return null;let{from:a,to:d}=n;if((await o.run(zA,[e.tenantId,e.runId,a,d])).length===0){let[l]=await o.run(FA,[e.tenantId,e.runId]),c=g(l??{});return{repinned:!1,status:i,digest:c.text("workflow_digest"),quarantined:c.boolean("quarantined")}}return await Ee(o,e,{...r,act:"repin",subject:`workflow ${a} to ${d}`}),{repinned:!0,status:i,digest:d,quarantined:!1}})}s($p,"repinRunIfUnclaimed");var UA=y("runs.restart",`
with ${Z(ee)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), arms_closed as (
  update ghouls.arms a
  set closed_at = settled.settled_at, closing = 'restart'
  from settled
  where a.tenant_id = settled.tenant_id and a.run_id = settled.run_id and a.closed_at is null
  returning a.run_id
), consents_closed as (
  update ghouls.consents c
  set status = 'CANCELLED', closed_at = settled.settled_at, closed_by = 'the restart of its run'
  from settled
  where c.tenant_id = settled.tenant_id and c.run_id = settled.run_id and c.status = 'PENDING'
  returning c.run_id
), attempts_dropped as (
  update ghouls.attempts t
  set status = case when t.status = 'DEFINED' then 'CANCELLED' else t.status end,
    closed_at = case when t.status = 'DEFINED' then settled.settled_at end,
    closed_by = case when t.status = 'DEFINED' then 'the restart of its run' end,
    next_look_at = case when t.status = 'DEFINED' then null else settled.settled_at end, looks = 0,
    cancel_asked_at = coalesce(t.cancel_asked_at, settled.settled_at), cancel_reason = coalesce(t.cancel_reason, 'restart')
  from settled
  where t.tenant_id = settled.tenant_id and t.run_id = settled.run_id and t.status not in (${I(Re)})
  returning t.run_id
), child_items as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select child.tenant_id, child.parent_run_id, 'child', child.run_id::text, settled.seq, child.run_id, 'run ' || child.run_id,
    settled.settled_at, settled.settled_at
  from settled
  join ghouls.runs child on child.tenant_id = settled.tenant_id and child.parent_run_id = settled.run_id
  where child.parent_close <> 'abandon' and child.status not in (${I(Pe("run"))})
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0,
    epoch = run.epoch + 1, journal_start = run.journal_length, journal_bytes = 0, input_text = $7, input_digest = $8,
    starts_at = settled.settled_at, open_items = run.open_items + (select count(*) from child_items)::integer
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id and run.epoch = $9
    and (select count(*) from arms_closed) >= 0 and (select count(*) from consents_closed) >= 0
    and (select count(*) from attempts_dropped) >= 0
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, run.journal_start, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, moved.journal_start, $6, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $10::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`);async function Op(t,e,n,r){let[o]=await t.run(UA,[e.tenantId,e.runId,e.seq,e.token,n.workflowDigest,n.journalDigest,n.inputText,n.inputDigest,n.epoch,r.publisherGraceSeconds]);return o===void 0?Lo(t,e,"continued"):Ot(o)}s(Op,"restartIfClaimed");var BA=_("capacities.read",`
select c.name, c.units, c.said_at is not null as said
from ghouls.capacities c
where c.name = any($1::text[])`),Cp=y("capacities.lock",`
select c.name
from ghouls.capacities c
where c.name = any($1::text[])
order by c.name
for update`),KA=y("capacities.say",`
insert into ghouls.capacities as c (name, units, updated_at, said_at)
select q.name, q.units, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[]) as q(name, units)
order by q.name
on conflict (name) do update set units = excluded.units, said_at = excluded.said_at,
  updated_at = case when c.units = excluded.units then c.updated_at else excluded.updated_at end
where c.units <> excluded.units or c.said_at is null`),HA=y("capacities.add",`
insert into ghouls.capacities (name, units, updated_at)
select q.name, q.units, ghouls.clock()
from unnest($1::text[], $2::integer[]) as q(name, units)
order by q.name
on conflict (name) do nothing`);async function Dp(t,e){let n=await Np(t,e),r=s(([i,a])=>n.get(i)?.units===a&&n.get(i)?.said===!0,"isSaid");if(Object.entries(e).every(r))return;let o=Object.keys(e);await t.transaction("capacities.say",async i=>{await i.run(Cp,[o]),await i.run(KA,[o,Object.values(e)])})}s(Dp,"sayCapacities");async function Pp(t,e){let n=await Np(t,e),r=Object.entries(e).filter(([o])=>!n.has(o));r.length!==0&&await t.run(HA,[r.map(([o])=>o),r.map(([,o])=>o)])}s(Pp,"addCapacities");async function Np(t,e){let n=Object.keys(e);if(n.length===0)return new Map;let r=await t.run(BA,[n]);return new Map(r.map(o=>{let i=g(o);return[i.text("name"),{units:i.number("units"),said:i.boolean("said")}]}))}s(Np,"knownOf");async function qp(t,e){return(await t.run(Cp,[[e]])).length===1}s(qp,"lockCapacity");var Wa=`r.workflow_name, r.workflow_version, r.workflow_digest, r.bundle_digest, r.bytes, r.on_worker_loss, r.deadline_ms,
  r.basis_text, r.build, r.deployed_at, r.removed_at`,VA=y("releases.record",`
insert into ghouls.releases as r (workflow_name, workflow_version, workflow_digest, bundle_digest, bytes, on_worker_loss,
  deadline_ms, basis_text, starts, build, recorded_at, deployed_at)
select q.name, q.version, q.digest, q.bundle, q.bytes, q.on_worker_loss, q.deadline_ms, q.basis,
  array(select jsonb_array_elements_text(q.starts::jsonb)), $10, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::bigint[], $8::text[], $9::text[])
  as q(name, version, digest, bundle, bytes, on_worker_loss, deadline_ms, basis, starts)
order by q.name, q.digest, q.bundle
on conflict (workflow_name, workflow_digest, bundle_digest) do update
  set build = excluded.build, deployed_at = excluded.deployed_at, removed_at = null, deleted_at = null
returning r.recorded_at = r.deployed_at as is_new`),YA=_("releases.of-pin",`
select ${Wa}
from ghouls.releases r
where r.workflow_name = $1 and r.workflow_digest = $2
order by r.removed_at is not null, r.deployed_at desc, r.recorded_at desc, r.bundle_digest
limit 1`),QA=_("releases.newest",`
select ${Wa}
from ghouls.releases r
where r.workflow_name = $1 and ($2::integer is null or r.workflow_version = $2)
order by r.deployed_at desc, r.workflow_version desc, r.recorded_at desc, r.bundle_digest
limit 1`),XA=_("releases.all",`
with open as materialized (
  select run.workflow_name as name, run.workflow_digest as digest, count(*)::integer as runs
  from ghouls.runs run
  where run.status in (${I(fe)})
  group by run.workflow_name, run.workflow_digest
)
select ${Wa}, coalesce(open.runs, 0) as runs
from ghouls.releases r
left join open on open.name = r.workflow_name and open.digest = r.workflow_digest
where r.removed_at is null
order by r.workflow_name, r.workflow_version, r.deployed_at, r.recorded_at, r.bundle_digest`);async function Tp(t,e,n){return(await t.run(VA,[e.map(({workflow:o})=>o.name),e.map(({workflow:o})=>o.version),e.map(({workflow:o})=>o.digest),e.map(({bundle:o})=>o),e.map(({bytes:o})=>o),e.map(({onWorkerLoss:o})=>o),e.map(({deadlineMs:o})=>o),e.map(({basisText:o})=>o),e.map(({starts:o})=>JSON.stringify(o)),n])).filter(o=>g(o).boolean("is_new")).length}s(Tp,"recordReleases");async function Lp(t,e){let[n]=await t.run(YA,[e.name,e.digest]);return n===void 0?null:Ba(n)}s(Lp,"readReleaseOf");async function Mp(t,e,n){let[r]=await t.run(QA,[e,n]);return r===void 0?null:Ba(r)}s(Mp,"readNewestRelease");async function jp(t){return(await t.run(XA,[])).map(n=>({...Ba(n),runs:g(n).number("runs")}))}s(jp,"readReleases");function Ba(t){let e=g(t);return{workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},bundle:e.text("bundle_digest"),bytes:e.number("bytes"),onWorkerLoss:e.text("on_worker_loss"),deadlineMs:e.numberOrNull("deadline_ms"),basisText:e.text("basis_text"),build:e.text("build"),deployedAt:e.date("deployed_at"),removedAt:e.dateOrNull("removed_at")}}s(Ba,"releaseOf");var eR=y("releases.lock",`
select r.workflow_name, r.workflow_digest, r.bundle_digest
from ghouls.releases r
where r.removed_at is null and r.deployed_at < (
    select max(d.deployed_at) from ghouls.releases d
    where d.deployed_at < ghouls.clock() - $1::double precision * interval '1 second')
order by r.workflow_name, r.workflow_digest, r.bundle_digest
for update`),tR=y("releases.remove",`
with pinned as materialized (
  select distinct run.workflow_name as name, run.workflow_digest as digest
  from ghouls.runs run
  where run.status in (${I(fe)})
), candidate as materialized (
  select q.name, q.digest, q.bundle
  from unnest($2::text[], $3::text[], $4::text[]) as q(name, digest, bundle)
  where not exists (select from pinned where pinned.name = q.name and pinned.digest = q.digest)
    and not exists (
      select from ghouls.workflows w
      where w.name = q.name and w.digest = q.digest
        and w.last_seen_at >= ghouls.clock() - $1::double precision * interval '1 second')
), kept as materialized (
  select r.starts
  from ghouls.releases r
  where r.removed_at is null
    and (r.workflow_name, r.workflow_digest, r.bundle_digest) not in (select c.name, c.digest, c.bundle from candidate c)
)
update ghouls.releases r
set removed_at = ghouls.clock()
from candidate c
where r.workflow_name = c.name and r.workflow_digest = c.digest and r.bundle_digest = c.bundle and r.removed_at is null
  and not exists (select from kept where c.digest = any(kept.starts))
returning r.bundle_digest`),nR=_("releases.to-delete",`
select distinct r.bundle_digest
from ghouls.releases r
where r.removed_at is not null and r.deleted_at is null
  and not exists (select from ghouls.releases o where o.bundle_digest = r.bundle_digest and o.removed_at is null)
order by r.bundle_digest`),rR=y("releases.mark-deleted",`
update ghouls.releases r
set deleted_at = ghouls.clock()
where r.bundle_digest = $1 and r.removed_at is not null and r.deleted_at is null
returning r.bundle_digest`);async function zp(t,e){return t.transaction("releases.remove",async n=>{let r=(await n.run(eR,[e])).map(i=>g(i));return r.length===0?0:(await n.run(tR,[e,r.map(i=>i.text("workflow_name")),r.map(i=>i.text("workflow_digest")),r.map(i=>i.text("bundle_digest"))])).length})}s(zp,"removeUnpinnedReleases");async function Fp(t){return(await t.run(nR,[])).map(e=>g(e).text("bundle_digest"))}s(Fp,"readBundlesToDelete");async function Gp(t,e){return(await t.run(rR,[e])).length>0}s(Gp,"markBundleDeleted");var sR=_("reservations.of-run",`
select x.capacity, x.units, x.name, x.scope, x.status, x.asked_at, x.held_at
from ghouls.reservations x
where x.tenant_id = $1 and x.run_id = $2 and (x.status in ('WAITING', 'AWAY', 'HELD') or (x.status = 'LEFT' and exists (
  select from ghouls.containment_items i
  where i.tenant_id = x.tenant_id and i.run_id = x.run_id and i.kind = 'worker' and i.key = x.seq::text
    and i.acknowledged_at is null)))
order by x.asked_at, x.reservation_id`);async function Up(t,e){return(await t.run(sR,[e.tenantId,e.runId])).map(r=>{let o=g(r);return{capacity:o.text("capacity"),units:o.number("units"),name:o.text("name"),scope:o.text("scope"),status:o.text("status"),askedAt:o.date("asked_at"),heldAt:o.dateOrNull("held_at")}})}s(Up,"readReservations");var aR=60,Pr=s(t=>`${t}.tenant_id = held.tenant_id and ${t}.run_id = held.run_id and ${t}.epoch = $5
      and ${t}.scope = $6 and ${t}.name = $7 and ${t}.nth = $8`,"OF_CALL"),dR=y("reservations.take",`
with ${Z(ee)}, asked as materialized (
  select x.reservation_id, x.status
  from held
  join ghouls.reservations x on ${Pr("x")} and x.status in ('WAITING', 'HELD')
), since as materialized (
  select coalesce(min(x.asked_at), ghouls.clock()) as asked_at
  from held
  left join ghouls.reservations x on ${Pr("x")} and x.held_at is null
    and x.asked_at > coalesce((select max(h.held_at) from ghouls.reservations h where ${Pr("h")}), 'epoch')
), acting as materialized (
  select x.tenant_id, x.run_id, x.reservation_id, x.units, exists (
      select from ghouls.containment_items i
      where i.tenant_id = x.tenant_id and i.run_id = x.run_id and i.kind = 'worker' and i.key = x.seq::text
        and i.acknowledged_at is null) as acts
  from held
  join ghouls.reservations x on x.capacity = $9 and x.status = 'LEFT'
), ended as (
  update ghouls.reservations x
  set status = 'RELEASED', released_at = ghouls.clock()
  from acting
  where x.tenant_id = acting.tenant_id and x.run_id = acting.run_id and x.reservation_id = acting.reservation_id and not acting.acts
  returning x.run_id
), free as materialized (
  select c.units as all_units, c.units
    - (select coalesce(sum(x.units), 0) from ghouls.reservations x where x.capacity = $9 and x.status = 'HELD')
    - (select coalesce(sum(a.units), 0) from acting a where a.acts) as units
  from ghouls.capacities c
  where c.name = $9
), judged as materialized (
  select held.tenant_id, held.run_id, held.seq, held.token, held.journal_length, since.asked_at, asked.status as stood,
    coalesce(asked.reservation_id, $12::uuid) as reservation_id, free.all_units,
    case
      when not $13::boolean and exists (select from ghouls.journal x where ${Pr("x")} and x.kind = 'reserve') then 'said'
      when asked.status = 'HELD' then 'held'
      when free.units >= $10::integer and not exists (
        select from ghouls.reservations x
        join ghouls.deliveries d on d.tenant_id = x.tenant_id and d.run_id = x.run_id and d.seq = x.seq
        where x.capacity = $9 and x.status in ('WAITING', 'AWAY') and x.run_id <> held.run_id and x.units + x.inside <= free.all_units
          and (x.asked_at, x.reservation_id) < (since.asked_at, coalesce(asked.reservation_id, $12::uuid))
          and case x.status
            when 'AWAY' then x.left_at > ghouls.clock() - ${aR} * interval '1 second'
            else d.status = 'CLAIMED' and d.lease_until >= ghouls.clock()
          end) then 'taken'
      when not $13::boolean and since.asked_at + $11::double precision * interval '1 second' <= ghouls.clock() then 'over'
      else 'waits'
    end as answer
  from held
  cross join since
  cross join free
  left join asked on true
), changed as (
  update ghouls.reservations x
  set status = case judged.answer when 'taken' then 'HELD' else 'RELEASED' end,
    holder = case judged.answer when 'taken' then judged.run_id end,
    held_at = case judged.answer when 'taken' then ghouls.clock() end,
    released_at = case judged.answer when 'over' then ghouls.clock() end
  from judged
  where x.tenant_id = judged.tenant_id and x.run_id = judged.run_id and x.reservation_id = judged.reservation_id
    and judged.stood = 'WAITING' and judged.answer in ('taken', 'over')
  returning x.run_id
), back as (
  update ghouls.reservations x
  set status = 'RELEASED', released_at = ghouls.clock()
  from held
  where ${Pr("x")} and x.status = 'AWAY'
  returning x.run_id
), made as (
  insert into ghouls.reservations (tenant_id, run_id, reservation_id, epoch, scope, name, nth, capacity, units, inside, seq, token, holder,
    status, asked_at, held_at)
  select judged.tenant_id, judged.run_id, judged.reservation_id, $5, $6, $7, $8, $9, $10, $18, judged.seq, judged.token, judged.run_id,
    case judged.answer when 'taken' then 'HELD' else 'WAITING' end, judged.asked_at,
    case judged.answer when 'taken' then ghouls.clock() end
  from judged
  where judged.stood is null and judged.answer in ('taken', 'waits')
  returning run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select judged.tenant_id, judged.run_id, judged.journal_length + 1, $5, $6, 'reserve', $7, $8, 'ok',
    case judged.answer when 'taken' then $14 else $16 end, case judged.answer when 'taken' then $15 else $17 end,
    1, judged.seq, judged.token, date_trunc('milliseconds', judged.asked_at), date_trunc('milliseconds', ghouls.clock())
  from judged
  where judged.answer = 'over' or (judged.answer = 'taken' and not $13::boolean)
  returning run_id, ordinal, completed_at, octet_length(result_text) as bytes
), moved as (
  update ghouls.runs run
  set reservations = run.reservations + (select count(*) from made)::integer,
    journal_length = coalesce(entry.ordinal, run.journal_length),
    journal_bytes = run.journal_bytes + coalesce(entry.bytes, 0),
    losses = case when entry.ordinal is null then run.losses else 0 end,
    idle_yields = case when entry.ordinal is null then run.idle_yields else 0 end,
    status = case when judged.answer = 'waits' or exists (
        select from ghouls.reservations x
        where x.tenant_id = run.tenant_id and x.holder = run.run_id and x.status = 'WAITING'
          and x.reservation_id <> judged.reservation_id) then 'AWAITING_HARDWARE' else 'RUNNING' end
  from judged
  left join entry on entry.run_id = judged.run_id
  where run.tenant_id = judged.tenant_id and run.run_id = judged.run_id and judged.answer in ('taken', 'over', 'waits')
    and (judged.answer <> 'waits' or judged.stood is null)
  returning run.run_id
)
select judged.answer, judged.asked_at, extract(epoch from ghouls.clock() - judged.asked_at)::double precision as waited,
  judged.all_units, entry.ordinal, entry.completed_at
from judged
left join entry on entry.run_id = judged.run_id
where (select count(*) from ended) >= 0 and (select count(*) from back) >= 0 and (select count(*) from changed) >= 0 and (select count(*) from moved) >= 0`),uR=_("reservations.said",`
select j.ordinal, j.completed_at, j.result_digest = $8 as reserved
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = 'reserve' and j.name = $5
  and j.nth = $6 and j.token = $7::uuid`);async function Wp(t,e,n){let{call:r,capacity:o,units:i,inside:a,waitSeconds:d,reservationId:u,retake:l,reserved:c,unavailable:m}=n;return t.transaction("reservations.take",async f=>{if(await O(f,[e]),!await qp(f,o))return{kind:"unknown_capacity"};let[p]=await f.run(dR,[e.tenantId,e.runId,e.seq,e.token,r.epoch,r.scope,r.name,r.nth,o,i,d,u,l,c.text,c.digest,m.text,m.digest,a]);if(p===void 0)return null;switch(g(p).text("answer")){case"said":return cR(f,e,n);case"waits":return lR(p);case"over":return{kind:"unavailable",entry:jn(p)};default:return{kind:"held",entry:p.ordinal===null?null:jn(p)}}})}s(Wp,"takeIfClaimed");function lR(t){let e=g(t);return{kind:"waits",askedAt:e.date("asked_at"),waitedSeconds:e.number("waited"),allUnits:e.number("all_units")}}s(lR,"waiting");async function cR(t,e,{call:n,reserved:r}){let{tenantId:o,runId:i,token:a}=e,[d]=await t.run(uR,[o,i,n.epoch,n.scope,n.name,n.nth,a,r.digest]);return d===void 0?null:{kind:d.reserved===!0?"held":"unavailable",entry:jn(d)}}s(cR,"answeredBefore");function jn(t){let e=g(t);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}s(jn,"journaled");var fR=y("reservations.release",`
with ${Z(ee)}, released as (
  update ghouls.reservations x
  set status = 'RELEASED', holder = null, released_at = ghouls.clock()
  from held
  where x.tenant_id = held.tenant_id and x.run_id = held.run_id and x.epoch = $5 and x.scope = $6 and x.name = $7 and x.nth = $8
    and x.status = 'HELD' and x.token = held.token
  returning x.tenant_id, x.run_id, x.held_at
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, tries, seq, token, started_at,
    completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $9, 'release', $7, $10, 'ok', 1, held.seq, held.token,
    date_trunc('milliseconds', coalesce(released.held_at, ghouls.clock())), date_trunc('milliseconds', ghouls.clock())
  from held
  left join released on released.tenant_id = held.tenant_id and released.run_id = held.run_id
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id`),pR=_("reservations.released",`
select j.ordinal, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = 'release' and j.name = $5
  and j.nth = $6 and j.token = $7::uuid`),gR=y("reservations.withdraw",`
with ${Z(ee)}, withdrawn as (
  update ghouls.reservations x
  set status = 'AWAY', holder = null, left_at = ghouls.clock()
  from held
  where x.tenant_id = held.tenant_id and x.holder = held.run_id and x.status = 'WAITING'
  returning x.run_id
)
update ghouls.runs run
set status = 'RUNNING'
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id and (select count(*) from withdrawn) >= 0
returning run.run_id`);async function Bp(t,e,n,r){let[o]=await t.run(fR,[e.tenantId,e.runId,e.seq,e.token,n.epoch,n.scope,n.name,n.nth,r.scope,r.nth]);if(o!==void 0)return jn(o);let{tenantId:i,runId:a,token:d}=e,[u]=await t.run(pR,[i,a,r.epoch,r.scope,r.name,r.nth,d]);return u===void 0?null:jn(u)}s(Bp,"releaseIfClaimed");async function Kp(t,e){return(await t.run(gR,[e.tenantId,e.runId,e.seq,e.token])).length===1}s(Kp,"withdrawIfClaimed");var Nr=1e3,_R=_("signals.by-key",`
select s.signal_id, s.request_digest
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and (s.idempotency_key = $3 or s.signal_id = $4::uuid)`),yR=_("signals.buffered",`
select count(*)::integer as buffered, count(*) filter (where s.name = $3)::integer as of_name,
  (select count(*) from ghouls.arms a
    where a.tenant_id = $1 and a.run_id = $2 and a.owner = 'signal' and a.name = $3 and a.closed_at is null)::integer as awaited
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and s.consumed_at is null`),wR=y("signals.keep",`
insert into ghouls.signals (tenant_id, run_id, signal_id, name, idempotency_key, request_digest, payload_text, payload_digest,
  sent_by, received_at)
select run.tenant_id, run.run_id, $3, $4, $5, $6, $7, $8, $9, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2
on conflict (tenant_id, run_id, idempotency_key) do nothing
returning signal_id`);async function Hp(t,e,n){return t.transaction("signals.keep",async r=>{let{tenantId:o,runId:i,signalId:a,idempotencyKey:d}=e,u=(await O(r,[e])).get(i);if(u===void 0)return null;let[l]=await r.run(_R,[o,i,d,a]);if(l!==void 0){let m=g(l);return m.text("request_digest")!==e.requestDigest?{kind:"conflict"}:{kind:"kept",signalId:m.text("signal_id"),repeated:!0,resumption:null}}if(pe(u)||X.includes(u))return{kind:"ended",status:u};if(await bR(r,e))return{kind:"full"};await r.run(wR,[o,i,a,e.name,d,e.requestDigest,e.payloadText,e.payloadDigest,e.sentBy]);let c=await Ze(r,e,n.publisherGraceSeconds);return{kind:"kept",signalId:a,repeated:!1,resumption:c}})}s(Hp,"keepSignal");async function bR(t,{tenantId:e,runId:n,name:r}){let[o]=await t.run(yR,[e,n,r]);if(o===void 0)return!1;let i=g(o);return i.number("buffered")>=Nr&&i.number("of_name")>=i.number("awaited")}s(bR,"isFull");var xR=y("traces.mark-made",`
with made as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  where d.made_in_trace is null
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set made_in_trace = $4
from made
where d.tenant_id = made.tenant_id and d.run_id = made.run_id and d.seq = made.seq`),ER=y("traces.mark-hop",`
update ghouls.deliveries d
set hop_trace = $5
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`),vR=_("traces.of-claims",`
select d.run_id, d.made_in_trace, (
  select before.hop_trace
  from ghouls.deliveries before
  where before.tenant_id = d.tenant_id and before.run_id = d.run_id and before.seq < d.seq and before.hop_trace is not null
  order by before.seq desc
  limit 1) as hop_trace
from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq`);async function Ka(t,e,n){await t.run(xR,[e.map(r=>r.tenantId),e.map(r=>r.runId),e.map(r=>r.enqueueSeq),n])}s(Ka,"markMadeInTrace");async function Jp(t,e,n){await t.run(ER,[e.tenantId,e.runId,e.seq,e.token,n])}s(Jp,"markHopTrace");async function Vp(t,e){let n=await t.run(vR,[e.map(r=>r.tenantId),e.map(r=>r.runId),e.map(r=>r.seq)]);return new Map(n.map(r=>{let o=g(r);return[o.text("run_id"),{madeIn:o.textOrNull("made_in_trace"),hopBefore:o.textOrNull("hop_trace")}]}))}s(Vp,"readTraceOrigins");var SR=_("transactions.limit",`
select pg_current_xact_id()::text as xid, set_config('statement_timeout', $1::text, true) as statement_timeout,
  set_config('lock_timeout', $1::text, true) as lock_timeout,
  set_config('idle_in_transaction_session_timeout', $1::text, true) as idle_timeout`),AR=1e3;async function Yp(t,e,n){if(!await t.turns.take(n))return null;let r=!0,o=s(()=>{r&&t.turns.give(),r=!1},"giveBack");try{let i=await t.begin("transactions",e+AR,o);try{return{open:i,xid:await Ha(i,e),rollback:s(a=>i.rollback(a),"rollback")}}catch(a){throw await i.rollback(),a}}catch(i){throw o(),i}}s(Yp,"beginUserTransaction");async function Ha(t,e){let[n]=await t.run(SR,[String(Math.max(1,Math.ceil(e)))]);return g(n??{}).text("xid")}s(Ha,"limit");async function Qp(t,{open:e},n){await Ha(e,n)}s(Qp,"limitTransaction");async function Xp(t,{open:e},n,r){return e.ask(n,r)}s(Xp,"askInTransaction");async function Zp(t,{open:e,xid:n},r,o,i){let a="limit";try{if(await Ha(e,i)!==n)return{kind:"left"};a="entry";let d=await Sa(e,r,o);return d===null?{kind:"fenced"}:(a="commit",await e.commit(),{kind:"committed",...d})}catch(d){let u=d instanceof W?d:RR(d);return a==="commit"&&(u.kind==="unknown"||u!==d)?{kind:"unknown",error:u}:{kind:"rolled_back",at:a,error:u}}finally{await e.rollback()}}s(Zp,"commitEntryIfClaimed");function RR(t){return new W("unavailable","transactions",void 0,t)}s(RR,"lost");async function eg(t,e,n){return t.transaction("transactions.read-back",async r=>(await O(r,[e]),Aa(r,e,n)))}s(eg,"readEntryBack");var OR=y("workflows.record",`
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`),CR=_("workflows.build-of",`
select w.build
from ghouls.workflows w
where w.name = $1 and w.digest = $2
order by w.last_seen_at desc
limit 1`);async function tg(t,e,n){await t.run(OR,[e.map(r=>r.name),e.map(r=>r.version),e.map(r=>r.digest),n])}s(tg,"recordWorkflows");async function ng(t,e){let[n]=await t.run(CR,[e.name,e.digest]);return n===void 0?null:g(n).text("build")}s(ng,"readBuildOf");function w(t,e){return((...n)=>e(t,...n))}s(w,"bind");function ye(t,e,n){return(async(...r)=>(await e(),n(t,...r)))}s(ye,"opening");function PR(t,e,n,r){return Bi(e,n,r)}s(PR,"admitIn");function rg(t){let e=new Oo(t),n=t.beforeOpening??(()=>Promise.resolve());return{schema:e.schema,runs:{admit:ye(e,n,Bi),admitIn:ye(e,n,PR),byKey:w(e,bn),byId:w(e,_o),get:w(e,yp),progress:w(e,wp),page:w(e,Rp),count:w(e,vp),pinned:w(e,Ip),openOfPins:w(e,np),stranded:w(e,rp),repinIfUnclaimed:w(e,$p),raiseAttention:w(e,Do),quarantineIfClaimed:w(e,cc),adoptIfClaimed:w(e,Ac),clearAbsenceIfClaimed:w(e,Sc),redrive:ye(e,n,hp),cancel:ye(e,n,ua),matching:w(e,xp),clear:ye(e,n,mp),pause:w(e,ep),unpause:ye(e,n,tp),overdue:w(e,Nm),failOverdue:w(e,qm),restartIfClaimed:w(e,Op),resume:ye(e,n,oa),resumeDue:w(e,oa)},deliveries:{releaseIfHeld:ye(e,n,Zu),claimIfDue:ye(e,n,qf),taken:w(e,Tf),unclaimed:w(e,Lf),settleIfClaimed:w(e,uc),duePublications:w(e,ap),markPublished:w(e,dp),markRelayed:w(e,up),markPublicationFailed:w(e,lp),markSkippedAsPaused:ye(e,n,cp),settleContainIfClaimed:w(e,lc),beatIfClaimed:w(e,Fc),parkIfClaimed:w(e,Hf),yieldStandingIfClaimed:w(e,Jf),beatOfWorker:w(e,zc),yieldIfClaimed:w(e,To),giveBackIfClaimed:w(e,Ic),wereGivenBack:w(e,Tm),lapsed:w(e,Af),settleLost:w(e,Rf),expiredHolds:w(e,Gm),expireHolds:w(e,Um),recordWorkerEnd:ye(e,n,ya),sayWorkerEnded:ye(e,n,ef),ofRun:w(e,bp)},skips:{note:w(e,Xm),ofRun:w(e,Zm)},journal:{appendIfClaimed:w(e,jf),read:w(e,Ff),outline:w(e,Mf)},transactions:{begin:w(e,Yp),ask:w(e,Xp),limit:w(e,Qp),commitIfClaimed:w(e,Zp),readBack:w(e,eg)},checkpoints:{read:w(e,Rc)},undos:{startIfClaimed:w(e,Vm),clearIfClaimed:w(e,Ym),ofRun:w(e,Qm)},intents:{openIfClaimed:w(e,Bm),closeIfClaimed:w(e,Km),openOfRun:w(e,Hm),lastOfRun:w(e,Jm)},items:{ofRun:w(e,hf),noteError:w(e,gf),due:w(e,_f),contain:w(e,xa),containSooner:ye(e,n,xa),acknowledge:ye(e,n,da),acknowledgeWorker:ye(e,n,$c)},arms:{openOfRun:w(e,Or),retriesOfRun:w(e,vm),runOf:w(e,fc),due:w(e,pc)},consents:{get:w(e,Fo),page:w(e,Am),inbox:w(e,Rm),decisions:w(e,pa),decide:ye(e,n,Sm),toLookUp:w(e,If),postponeLookUp:w(e,Sf)},attempts:{get:w(e,_c),forCallback:w(e,yc),page:w(e,kc),due:w(e,wc),definedOfRun:w(e,bc),claimSubmission:w(e,Lc),askToCancel:w(e,qc),change:ye(e,n,Nc),keepContradiction:w(e,Tc)},children:{startIfClaimed:w(e,Df),ends:w(e,$f),tellParent:w(e,Of),toCancel:w(e,Cf),cancel:w(e,ua)},capacities:{say:w(e,Dp),add:w(e,Pp)},reservations:{takeIfClaimed:w(e,Wp),releaseIfClaimed:w(e,Bp),withdrawIfClaimed:w(e,Kp),ofRun:w(e,Up)},signals:{keep:ye(e,n,Hp)},evidence:{reject:w(e,Em),copySteps:w(e,im),emitted:w(e,ul),terminalOf:w(e,wm),rejectedOf:w(e,bm),copiesOf:w(e,km),carryOut:w(e,sl),due:w(e,Ki),repair:w(e,Hi),writeMissing:w(e,al),judge:w(e,br),slices:w(e,Yi),settleDoubt:w(e,gl),verify:w(e,mm)},seals:{due:w(e,wl),runsToSeal:w(e,bl),make:w(e,kl),checkNext:w(e,_m)},retention:{due:w(e,um),empty:w(e,lm)},traces:{markMade:w(e,Ka),markMadeIn:s((r,...o)=>Ka(r,...o),"markMadeIn"),markHop:w(e,Jp),ofClaims:w(e,Vp)},workflows:{record:w(e,tg),buildOf:w(e,ng)},releases:{record:w(e,Tp),ofPin:w(e,Lp),newest:w(e,Mp),all:w(e,jp),removeUnpinned:w(e,zp),toDelete:w(e,Fp),markDeleted:w(e,Gp)},keys:{byId:w(e,Ko),markUsed:w(e,yf),page:w(e,bf),create:w(e,wf),revoke:w(e,kf),rolesOfSubject:w(e,xf)},grants:{live:w(e,Lm),page:w(e,jm),create:w(e,Mm),revoke:w(e,zm)},pauses:{set:w(e,Yf),lift:ye(e,n,Zf),get:w(e,$a),ofTenant:w(e,Qf),find:w(e,Ra),all:w(e,Xf)},integrity:{judge:w(e,ff),note:w(e,$t),get:w(e,Bo),acknowledge:w(e,tf),page:w(e,rf),unacknowledged:w(e,of)},deadLetters:{note:w(e,Cm),forget:w(e,Dm),republish:w(e,Pm)},reconciler:{passes:w(e,tm),beginRound:w(e,nm),advance:w(e,rm),endRound:w(e,om),note:w(e,sm),degrade:w(e,Uc),degradedAmong:w(e,Wc),takeTurns:w(e,Bc),clean:w(e,Kc),noteReason:w(e,Hc),makeDue:ye(e,n,Jc),states:w(e,Qc),degradedOwners:w(e,Xc),degradedPages:w(e,Zc),repairs:w(e,em)},nextLook:w(e,Uf),health:w(e,Wf),beforeOpening:n,doctor:s(()=>Vl(e),"doctor"),waiting:s(()=>Jl(e),"waiting"),schemaVersion:s(()=>vr(e),"schemaVersion"),transaction:e.transaction.bind(e),close:s(()=>e.close(),"close")}}s(rg,"openLedger");var Ja="ghouls_app";function og(t,e){return`
grant usage on schema ${t} to ${e};
grant select on ${t}.migrations to ${e};
grant select, insert, update on ${t}.workflows to ${e};
grant select, insert, update on ${t}.releases to ${e};
grant select, insert, update on ${t}.runs to ${e};
grant select, insert on ${t}.labels to ${e};
grant select, insert, update on ${t}.deliveries to ${e};
grant select, insert on ${t}.journal to ${e};
grant select, insert, delete on ${t}.checkpoints to ${e};
grant select, insert, update on ${t}.containment_items to ${e};
grant select, insert, update on ${t}.intents to ${e};
grant select, insert, update on ${t}.undos to ${e};
grant select on ${t}.steps_to_undo to ${e};
grant select, insert, update on ${t}.waits to ${e};
grant select, insert, update on ${t}.arms to ${e};
grant select, insert, update on ${t}.consents to ${e};
grant select, insert on ${t}.consent_decisions to ${e};
grant select, insert, update on ${t}.signals to ${e};
grant select, insert, update on ${t}.attempts to ${e};
grant select, insert, delete on ${t}.child_ends to ${e};
grant select, insert, update on ${t}.capacities to ${e};
grant select, insert, update on ${t}.reservations to ${e};
grant select, insert on ${t}.evidence to ${e};
grant select, insert, update on ${t}.skips to ${e};
grant select, insert on ${t}.audit to ${e};
grant select, update (last_used_at) on ${t}.api_keys to ${e};
grant select on ${t}.grants to ${e};
grant select, insert, update (lifted_at, lifted_by, lift_reason) on ${t}.pauses to ${e};
grant select, insert, update on ${t}.passes to ${e};
grant select, insert, update, delete on ${t}.degraded_owners to ${e};
grant select on ${t}.degraded_pages to ${e};
grant select, insert, delete on ${t}.repairs to ${e};
grant select, insert, delete, update (due_at) on ${t}.end_acts to ${e};
grant select, insert on ${t}.terminal_records to ${e};
grant select, insert on ${t}.seals to ${e};
grant select, update on ${t}.seal_checks to ${e};
grant execute on function ${t}.empty_bodies(text, uuid, integer) to ${e};
grant execute on function ${t}.empty_steps(text, uuid, integer) to ${e};
grant select, insert,
  update (detail, seen_at, gone_at, acknowledged_at, acknowledged_by, acknowledgement, quarantine) on ${t}.integrity_faults to ${e};
grant select, insert, update, delete on ${t}.dead_letters to ${e};
grant select on ${t}.doctor_open_deliveries to ${e};
grant select on ${t}.doctor_working_runs to ${e};
grant select on ${t}.doctor_attempts to ${e};
grant select on ${t}.doctor_children to ${e};
grant select on ${t}.units_in_use to ${e};
grant select on ${t}.doctor_reservations to ${e};
grant select on ${t}.doctor_undos to ${e};
grant select on ${t}.doctor_contradicted_attempts to ${e};
grant select on ${t}.doctor_terminal_runs to ${e};
grant select on ${t}.doctor_pending_deliveries to ${e};
grant select on ${t}.doctor_journals to ${e};
grant select on ${t}.doctor_open_items to ${e};
grant select on ${t}.doctor_endings to ${e};
grant select on ${t}.doctor_waits to ${e};
grant select on ${t}.doctor_ended_waits to ${e};
grant select on ${t}.doctor_lost_claims to ${e};
grant select on ${t}.doctor_quarantined_runs to ${e};
grant select on ${t}.doctor_runs_with_attention to ${e};
`}s(og,"grantsSql");function sg(t){return`
do $$ begin
  if not exists (select from pg_namespace where nspname = '${t}') then create schema ${t}; end if;
end $$;
create table if not exists ${t}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`}s(sg,"prologueSql");function ig(t,e){return`${Jt(t.sql,e)}
insert into ${e}.migrations (number, name) values (${t.number}, '${t.name}');
`}s(ig,"stepSql");function ag(t={}){let{schema:e,role:n}=ug(t);return["begin;",sg(e).trim(),...In.map(r=>`-- ${r.number} ${r.name}
${ig(r,e).trim()}`),og(e,n).trim(),"commit;",""].join(`

`)}s(ag,"migrationSql");async function dg(t){let{schema:e,role:n}=ug(t),r=new Sn({...t,maxConnections:1,answerTimeoutMs:0,applicationName:"ghouls-migrate"}),o=r.patience();try{let i=await r.connect("the migration",o);try{return await NR(i,e,n)}finally{i.release(!0)}}catch(i){throw qR(i,n)}finally{o.end(),await r.close()}}s(dg,"migrate");async function NR(t,e,n){await t.query("begin"),await t.query({text:"select pg_advisory_xact_lock(hashtextextended($1, 0))",values:[`ghouls-migrate:${e}`]}),await t.query(sg(e));let o=await t.query(`select number from ${e}.migrations order by number`),i=Number(o.rows.at(-1)?.number??0),a=In.at(-1)?.number??0;if(i>a)throw new x("configuration_invalid",`the schema is at migration ${i}, this code knows ${a}`,{fix:"Run the newer version of ghouls."});let d=In.filter(l=>l.number>i);for(let l of d)await t.query(ig(l,e));await t.query(og(e,n));let u=await t.query("commit");if(u.command!=="COMMIT")throw new Error(`the migration's COMMIT answered ${u.command}`);return{applied:d.map(({number:l,name:c})=>({number:l,name:c})),version:a}}s(NR,"applyMissing");function ug(t){let e=t.schema??yn,n=t.applicationRole??Ja;return wn(e,"the schema name"),wn(n,"the application's role"),{schema:e,role:n}}s(ug,"named");function qR(t,e){let n=typeof t=="object"&&t!==null&&"code"in t?t.code:void 0;return n==="42501"?new x("configuration_invalid","this role may not change the schema",{fix:"Give the migrator's connection string: the application's role owns nothing and has no DDL.",cause:t}):n==="42704"?new x("configuration_invalid",`the application's role "${e}" does not exist`,{fix:`Create it (create role ${e} login), or name yours with --app-role.`,cause:t}):t}s(qR,"readable");import es from"pg";var TR={statement_timeout:"15s",lock_timeout:"5s",idle_in_transaction_session_timeout:"2s"};function Va(t,e){let{schema:n,migrator:r,application:o}=t;for(let[a,d]of[["the schema name",n],["the migrator's role",r.name],["the application's role",o.name]])wn(d,a);let i=s(({name:a,password:d})=>[`do $$ begin if not exists (select from pg_roles where rolname = '${a}') then create role ${a} login; end if; end $$`,`do $$ begin if exists (select from pg_roles where rolname = '${a}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${a} nosuperuser nocreatedb nocreaterole; end if; end $$`,`alter role ${a} login password ${es.escapeLiteral(d)}`],"role");return[...i(r),...i(o),...Object.entries(TR).map(([a,d])=>`alter role ${o.name} set ${a} = '${d}'`),`do $$ begin if not pg_has_role('${r.name}', 'usage') then grant ${r.name} to current_user; end if; end $$`,`create schema if not exists ${n} authorization ${r.name}`,`grant connect on database ${es.escapeIdentifier(e)} to ${r.name}, ${o.name}`,...t.mayCreateSchemas===!0?[`grant create on database ${es.escapeIdentifier(e)} to ${r.name}`]:[]]}s(Va,"rolesSql");async function lg(t,e){let n=new es.Client({connectionString:t});n.on("error",()=>{}),await n.connect();try{let r=(await n.query("select current_database() as name")).rows[0]?.name??"";for(let o of Va(e,r))await n.query(o)}finally{await n.end()}}s(lg,"createRoles");var Qy={};Xr(Qy,{DEFAULT_EXECUTION_SETTINGS:()=>Ig,Follower:()=>Jn,LiveChannel:()=>Ks,LiveRing:()=>Js,Publisher:()=>zn,Registry:()=>ns,StillAskingError:()=>rn,blameHop:()=>Zg,createAdmission:()=>Eg,createAnnouncement:()=>_g,createAttempts:()=>O_,createClosing:()=>X_,createConsents:()=>q_,createControl:()=>W_,createDirectEgress:()=>vg,createEvents:()=>ly,createIntegrity:()=>py,createKeyAuthenticator:()=>B_,createKeyAuthority:()=>H_,createLedgerGrants:()=>J_,createLowering:()=>Gy,createOpening:()=>cy,createPauses:()=>U_,createReads:()=>ky,createReconcilerService:()=>Fy,createSignals:()=>Yy,endingsPass:()=>Ys,endsWithin:()=>ce,faultView:()=>Vs,inSpan:()=>et,isConsentStatus:()=>L_,noReleases:()=>Jy,pauseView:()=>Vr,reconcile:()=>ri,reconcileWhenDue:()=>Hy,retentionPass:()=>Qs,sealsPass:()=>Xs,work:()=>S_});import{INVALID_SPAN_CONTEXT as fg,SpanKind as LR,SpanStatusCode as MR,TraceFlags as jR,context as Ya,diag as zR,isSpanContextValid as pg,trace as qr}from"@opentelemetry/api";var FR=s(()=>qr.getTracer("ghouls"),"tracer"),GR=/^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;async function et(t,e,n){let r=tn(()=>UR(t,e)),o=r===void 0?WR:gg(r.span),i,a=s(()=>i??=(async()=>n(o))(),"carry");r!==void 0&&tn(()=>{Ya.with(qr.setSpan(r.around,r.span),a)});try{return await a()}catch(d){throw o.setStatus({code:MR.ERROR,message:v(d)}),d}finally{tn(()=>r?.span.end())}}s(et,"inSpan");function UR(t,e){let n=mg(e.parent),r=n===void 0?Ya.active():qr.setSpanContext(Ya.active(),n),o=(e.links??[]).flatMap(a=>{let d=mg(a);return d===void 0?[]:[{context:d}]});return{span:FR().startSpan(t,{kind:e.kind??LR.INTERNAL,root:e.parent===null,links:o,...e.attributes===void 0?{}:{attributes:e.attributes}},r),around:r}}s(UR,"begin");function tn(t){try{return t()}catch(e){zR.error("ghouls: what traces has thrown",v(e));return}}s(tn,"quietly");function gg(t){return{spanContext:s(()=>tn(()=>t.spanContext())??fg,"spanContext"),setAttribute:s((n,r)=>(tn(()=>t.setAttribute(n,r)),t),"setAttribute"),setStatus:s(n=>(tn(()=>t.setStatus(n)),t),"setStatus")}}s(gg,"quiet");var WR=gg(qr.wrapSpanContext(fg));function nn(t){let e=tn(()=>(t??qr.getActiveSpan())?.spanContext());if(e===void 0||!pg(e))return;let n=(e.traceFlags&255).toString(16).padStart(2,"0");return`00-${e.traceId}-${e.spanId}-${n}`}s(nn,"traceparentOf");function mg(t){let[,e,n,r]=GR.exec(t??"")??[];if(e===void 0||n===void 0||r===void 0)return;let o={traceId:e,spanId:n,traceFlags:Number.parseInt(r,16)&jR.SAMPLED,isRemote:!0};return pg(o)?o:void 0}s(mg,"remote");function hg(t,e){let n=[],r=!1,o=s(async()=>{for(r=!0;n.length>0;){let i=n.slice(0,t);n=n.slice(t);try{let a=await e(i.map(d=>d.item));i.forEach((d,u)=>d.resolve(a[u]))}catch(a){for(let d of i)d.reject(a)}}r=!1},"drain");return i=>new Promise((a,d)=>{n.push({item:i,resolve:a,reject:d}),r||(r=!0,queueMicrotask(()=>{o()}))})}s(hg,"grouped");async function ce(t,e){let n=Promise.withResolvers(),r=setTimeout(()=>n.resolve(!1),Math.min(Math.max(0,e),2147483647));try{return await Promise.race([t.then(()=>!0),n.promise])}finally{clearTimeout(r)}}s(ce,"endsWithin");async function re(t,e){if(await ce(t,e))return t;throw new Qa(e)}s(re,"answerWithin");var Qa=class extends Error{static{s(this,"NoAnswerInTimeError")}constructor(e){super(`no answer within ${e} ms`),this.name="NoAnswerInTime"}};var BR=100,zn=class{static{s(this,"Publisher")}#e;#t;constructor(e){this.#e=e,this.#t=hg(BR,n=>this.#n(n))}publish(e){return this.#t(e)}async#n(e){let{queue:n,log:r,faults:o,open:i}=this.#e;try{await i?.(e);let{confirmed:a,failed:d}=await n.publish(e);for(let{publication:l,reason:c}of d)r.warn("a delivery could not be published; the relay will",{runId:l.runId,reason:c});await o("admission.after-publish",`${a.length} confirmed`),await this.#r(a,d);let u=new Set(a.map(({runId:l,enqueueSeq:c})=>`${l}:${c}`));return e.map(({runId:l,enqueueSeq:c})=>u.has(`${l}:${c}`)?"published":"failed")}catch(a){return r.warn("publications failed; the relay repeats them",{count:e.length,error:v(a)}),e.map(()=>"failed")}}async#r(e,n){let{ledger:r,log:o}=this.#e;try{await r.deliveries.markPublished(e),await r.deliveries.markPublicationFailed(n)}catch(i){o.warn("publications could not be marked",{count:e.length,error:v(i)})}}},KR=2e3;async function Dt(t,e){let n=t.publish(e);return await ce(n,KR)?n:"failed"}s(Dt,"publishInTime");function _g({ledger:t,registry:e,capacities:n,build:r}){let o,i=s(async()=>{await t.workflows.record(e.carried(),r),await t.capacities.add(n)},"announce");return()=>(o??=i().catch(a=>{throw o=void 0,a}),o)}s(_g,"createAnnouncement");async function Tr(t){try{await t()}catch(e){throw!(e instanceof W)||e.kind!=="unknown"&&e.kind!=="busy"?e:new x("ledger_unavailable","nothing was admitted: this build could not say in the ledger which workflows it has",{fix:"Send the request again.",retryAfterSeconds:2,cause:e})}}s(Tr,"announceOrRefuse");async function Xa(t,e,n){let r=t.filter(u=>!e.has(u.runId)),o=r.flatMap(u=>u.idempotencyKey===null?[]:[{tenantId:u.tenantId,idempotencyKey:u.idempotencyKey}]),i=r.filter(u=>u.idempotencyKey===null),a=new Map((o.length>0?await n.byKey(o):[]).map(u=>[u.idempotencyKey,u])),d=new Map((i.length>0?await n.byId(i):[]).map(u=>[u.runId,u]));return t.map(u=>{let l=e.get(u.runId);if(l!==void 0)return{run:HR(u,l),created:!0};let c=u.idempotencyKey===null?d.get(u.runId):a.get(u.idempotencyKey);if(c===void 0)throw new x("outcome_unknown","the ledger neither wrote the run nor holds its key",{fix:"Send the request again under the same Idempotency-Key.",retryAfterSeconds:1});return c.requestDigest!==u.requestDigest?{conflict:!0}:{run:c,created:c.runId===u.runId}})}s(Xa,"settleKeys");function HR(t,{startsAt:e,startsInSeconds:n}){let{tenantId:r,runId:o,idempotencyKey:i,requestDigest:a,workflow:d,queue:u,priority:l,held:c}=t;return{tenantId:r,runId:o,idempotencyKey:i,requestDigest:a,workflow:d,queue:u,priority:l,held:c,status:"QUEUED",enqueueSeq:1,unpublished:!c,startsAt:e,dueInSeconds:n}}s(HR,"freshRun");function Lr({run:t,created:e}){let{runId:n,status:r,enqueueSeq:o,workflow:i,queue:a,priority:d,held:u,startsAt:l}=t;return{runId:n,created:e,status:r,enqueueSeq:o,workflow:i,queue:a,priority:d,held:u,startsAt:l?.toISOString()??null}}s(Lr,"admittedView");function ts(t){return new x("idempotency_conflict",`the idempotency key "${t}" was used for another request`,{fix:"Use a new key for a new request, or send the same request again."})}s(ts,"conflict");async function yg(t,e){let n=[],r=[],o;for(let[i,a]of t.entries())try{n.push(await e(a))}catch(d){if(!(d instanceof x))throw d;o??=d;let u=d.issues??[{path:"",message:d.message}];r.push(...u.map(l=>({path:`/runs/${i}${l.path}`,message:l.message})))}if(o===void 0)return n;throw new x(o.code,`nothing was admitted: ${o.message}`,{issues:r.slice(0,50),...o.fix===void 0?{}:{fix:o.fix}})}s(yg,"prepareAll");async function Mr(t,e,n){let r=nn();if(!(r===void 0||t.length===0))try{await e(t,r)}catch(o){n.warn("the trace of an admission could not be kept",{count:t.length,error:v(o)})}}s(Mr,"keepTrace");var ns=class{static{s(this,"Registry")}#e=new Map;#t=new Map;#n=new Map;constructor(e){for(let n of e)this.add(n)}add(e){let{name:n,version:r}=e.definition,o=fr(e.definition);if(this.#e.has(o))throw new x("configuration_invalid",`workflow "${n}" version ${r} is registered twice`,{fix:"Give each registered workflow its own name or version."});this.#e.set(o,e);let i=this.#t.get(n);(i===void 0||i.definition.version<r)&&this.#t.set(n,e);for(let a of e.definition.accepts)this.#r(e,a)}#r(e,n){let{name:r,version:o}=e.definition,i=`${r}@${n}`,a=this.#n.get(i);if(a!==void 0)throw new x("configuration_invalid",`versions ${a.definition.version} and ${o} of workflow "${r}" both accept ${n}`,{fix:"Let one of them carry those runs on."});this.#n.set(i,e)}all(){return[...this.#e.values()]}pins(){return this.all().map(jr)}carried(){let e=[...this.#n].map(([r,{definition:o}])=>({name:o.name,version:o.version,digest:r.slice(o.name.length+1)})),n=[...this.pins(),...e].map(r=>[`${r.name}@${r.version}@${r.digest}`,r]);return[...new Map(n).values()]}choose(e,n){let r=n===void 0?this.#t.get(e):this.#e.get(fr({name:e,version:n}));if(r===void 0){let o=n===void 0?`"${e}"`:`"${e}" version ${n}`;throw new x("unknown_workflow",`there is no workflow ${o}`,{fix:`Registered are: ${[...this.#e.keys()].join(", ")||"none"}.`})}return r}find(e){return this.#e.get(fr(e))}newestCarrier(e){let n=this.find(e),r=this.#n.get(`${e.name}@${e.digest}`),o=n?.digest===e.digest?n:void 0;return o===void 0||r===void 0?o??r:r.definition.version>o.definition.version?r:o}carrier(e){let n=this.find(e);return n?.digest===e.digest?n:this.#n.get(`${e.name}@${e.digest}`)}};function jr({definition:t,digest:e}){return{name:t.name,version:t.version,digest:e}}s(jr,"pinOf");async function bg(t,e,n,r){let{ledger:o,registry:i,announce:a,ids:d,faults:u,publish:l,settings:c}=t,m={tenantId:e.tenantId,runId:n},f=V(n)?await o.runs.get(m):null;if(f===null)throw Za();let p=i.newestCarrier(f.workflow),h=pe(f.status)&&f.redrivenAs===null,b=h&&p===void 0?await JR(f,o):void 0;if(h&&p===void 0&&b===void 0)throw wg(f);await Tr(a);let E=d.next(),A=await o.runs.redrive(m,{runId:E,workflow:p===void 0?f.workflow:jr(p),...p===void 0?{release:f.workflow}:{},onWorkerLoss:p?.definition.onWorkerLoss??b?.onWorkerLoss??"fail",deadlineMs:p?.definition.deadlineMs??b?.deadlineMs??null,requestedBy:e.subject,requestedRoles:e.roles,reason:r},c);if(await u("redrive.after-commit",n),A===null)throw Za();if(A.kind==="release_gone")throw wg(f);if(A.kind==="refused")throw YR(n,A.why,A.about);if(A.kind==="redriven_before"&&!A.sameWord)throw VR(n,A);let F=A.kind==="redriven"?E:A.runId,[M]=await o.runs.byId([{tenantId:e.tenantId,runId:F}]),j=await o.runs.get({tenantId:e.tenantId,runId:F});if(M===void 0||j===null)throw Za();return await l(M),{runId:F,redriveOf:n,created:A.kind==="redriven",status:j.status,enqueueSeq:j.enqueueSeq,workflow:j.workflow,queue:j.queue,priority:j.priority,...A.kind==="redriven"?{kept:A.cut.entries,from:A.cut.call}:{kept:null,from:null}}}s(bg,"redrive");async function JR({workflow:t},{releases:e}){let n=await e.ofPin(t);return n===null||n.removedAt!==null?void 0:n}s(JR,"releaseOf");function Za(){return new x("not_found","there is no such run",{fix:"Check the run id."})}s(Za,"absent");function kg(t,e,n){return new x("not_redrivable",e,{fix:n,issues:[{path:`/${t}`,message:e}]})}s(kg,"notRedrivable");function wg({runId:t,workflow:{name:e,version:n,digest:r}}){return kg("workflow_changed",`run ${t} is pinned to workflow "${e}" version ${n} with digest ${r}, and neither code of this build nor a release carries it on`,`Deploy code that carries it on and says so: accepts: ["${r}"].`)}s(wg,"changed");function VR(t,{runId:e,status:n}){let o=!pe(n)?`Follow that one: \`ghouls watch ${e}\`. Cancel it first where it is not wanted.`:n==="DONE"?"Its work is done; submit a new run for more.":`Redrive that one: \`ghouls redrive ${e}\`.`;return new x("redriven_before",`run ${t} was redriven before, as ${e}, which is ${n}`,{fix:o})}s(VR,"redrivenBefore");var ed="Submit it anew, once you have seen to what it did.";function YR(t,e,n){let[r,o]=XR[e](t,n??"");return kg(e,r,o)}s(YR,"refusal");function QR(t){return t==="DONE"?"Submit a new run.":X.some(e=>e===t)?"Wait for its end; `ghouls show` tells whether it waits for a person.":"Wait for its end, or cancel it."}s(QR,"fixOf");var XR={not_ended:s((t,e)=>[`run ${t} is ${e}: only one that is FAILED or CANCELLED is redriven`,QR(e)],"not_ended"),quarantined:s(t=>[`run ${t} is quarantined: what the ledger has of it contradicts itself`,`Correct the cause, then \`ghouls clear ${t}\`.`],"quarantined"),child_run:s((t,e)=>[`run ${t} is a child of ${e}, which has its result`,`Redrive its parent: \`ghouls redrive ${e}\` starts the child again.`],"child_run"),child_open:s((t,e)=>[`child ${e} has not ended`,`Wait for its end, or \`ghouls cancel ${e}\`.`],"child_open"),effect_unknown:s((t,e)=>[`of the effect of step "${e}" nobody knows whether it happened, but for a person's word`,ed],"effect_unknown"),job_unknown:s((t,e)=>[`of the job "${e}" nobody knows how it ended, but for a person's word, or its service contradicts itself`,ed],"job_unknown"),undone:s((t,e)=>[`step "${e}" of it has been undone: its effects were taken back`,"Submit it anew."],"undone"),body_gone:s((t,e)=>[`of run ${t} ${e} is gone, at least in part`,"Submit it anew."],"body_gone"),done_behind:s((t,e)=>[`"${e}" was done for good at the call that failed or after it, or where the journal does not say so; it would be done again`,ed],"done_behind")};var ZR=5,e$="1h";async function rs(t,e,n){let{request:r}=n,o=Buffer.byteLength(n.inputText);if(o>Wt)throw new x("too_large",`the input is ${o} bytes of JSON, the limit is ${Wt}`,{fix:"Keep the material elsewhere and send a reference."});if(r.holdFor!==void 0&&r.held!==!0)throw new x("invalid_request","holdFor is for a run that is held",{issues:[{path:"/holdFor",message:"needs held: true"}],fix:"Add held: true, or leave holdFor out."});let i=JSON.parse(n.inputText),a=r.workflow===void 0?n$(t.route,{input:i,...r.agent===void 0?{}:{agent:r.agent}}):void 0,d=t.registry.choose(r.workflow??a.workflow,r.version);await s$(d,i);let u=t.ids.next(),l=await t.codec.encode(n.inputText,{tenantId:e.tenantId,runId:u,kind:"input"});return{tenantId:e.tenantId,runId:u,idempotencyKey:n.idempotencyKey??null,requestDigest:await Je(t.codec,n.canonicalRequest),workflow:{name:d.definition.name,version:d.definition.version,digest:d.digest},queue:r$(t.queues,r.queue??a?.queue??d.definition.queue??rr),priority:o$(r.priority??a?.priority??ZR),agent:r.agent??null,...r.labels===void 0?{}:{labels:r.labels},requestedBy:e.subject,requestedRoles:e.roles,inputText:l,inputDigest:q(l),deadlineMs:d.definition.deadlineMs??null,onWorkerLoss:d.definition.onWorkerLoss,held:r.held??!1,holdMs:ne(r.holdFor??e$),startAfter:t$(r.startAfter)}}s(rs,"prepare");function t$(t){return t===void 0?null:Ue(t)?{ms:ne(t)}:{at:new Date(t)}}s(t$,"startAfterOf");async function Je(t,e){return t.digest?.(e)??q(e)}s(Je,"requestDigest");function n$(t,e){let n;try{n=t?.(e)}catch{throw new x("invalid_request","the route of the configuration could not choose a workflow for this request",{fix:"Name a workflow in the request."})}if(n===void 0)throw new x("invalid_request","the request names no workflow and the route chose none",{issues:[{path:"/workflow",message:"is missing"}],fix:"Name a workflow, or let `route` in the configuration choose one."});return n}s(n$,"routeOf");function r$(t,e){if(!t.includes(e))throw new x("unknown_queue",`there is no queue "${e}"`,{fix:`Configured are: ${t.join(", ")}.`});return e}s(r$,"queueOf");function o$(t){if(!Number.isInteger(t)||t<0||t>9)throw new x("invalid_request",`a priority of ${t} is not taken`,{issues:[{path:"/priority",message:"must be a whole number from 0 to 9"}],fix:"Give a whole number from 0 to 9; 9 goes first."});return t}s(o$,"priorityOf");async function s$(t,e){let n=await i$(t,e);if(n.length!==0)throw new x("input_invalid",`the input does not fit workflow "${t.definition.name}"`,{issues:n,fix:"Send an input of the workflow's schema; GET /v1/workflows shows it."})}s(s$,"checkInput");async function i$(t,e){try{let n=await t.definition.input.safeParseAsync(e);return n.success?[]:n.error.issues.slice(0,50).map(r=>({path:["","input",...r.path.map(String)].join("/"),message:r.message.slice(0,500)}))}catch{return[{path:"/input",message:"the workflow's schema failed on this input"}]}}s(i$,"issuesOf");function Eg(t){let{ledger:e}=t,n=new zn(t),r={lockTimeoutMs:t.lockTimeoutMs??2e3,publisherGraceSeconds:t.publisherGraceSeconds??15},o=s(async({tenantId:d,runId:u,enqueueSeq:l,queue:c,unpublished:m,dueInSeconds:f})=>{if(!m||f>We)return;let p={tenantId:d,runId:u,enqueueSeq:l,queue:c,...xg(f)};await Dt(n,p)},"publishIfUnpublished"),i=s(async(d,{idempotencyKey:u,canonicalRequest:l})=>{if(u===void 0)return;let[c]=await e.runs.byKey([{tenantId:d.tenantId,idempotencyKey:u}]);if(!(c===void 0||c.requestDigest!==await Je(t.codec,l)))return Lr({run:c,created:!1})},"admittedBefore"),a=s(async d=>{await Tr(t.announce);let u=await e.runs.admit(d,r);await t.faults("admission.after-commit",`${u.size} created`);let l=await Xa(d,u,e.runs);return await Mr(d.flatMap(c=>u.has(c.runId)?[{...c,enqueueSeq:1}]:[]),e.traces.markMade,t.log),await Promise.all(l.flatMap(c=>"run"in c?[o(c.run)]:[])),l},"commit");return{admit:s(async(d,u)=>{let l;try{l=await rs(t,d,u)}catch(m){let f=await i(d,u);if(f===void 0)throw m;return f}let[c]=await a([l]);if(c===void 0||"conflict"in c)throw ts(l.idempotencyKey);return Lr(c)},"admit"),admitBatch:s(async(d,u)=>{let l=await yg(u,m=>rs(t,d,m));return{runs:(await a(l)).map((m,f)=>"run"in m?{outcome:"admitted",run:Lr(m)}:{outcome:"conflict",idempotencyKey:l[f]?.idempotencyKey??"",detail:ts(l[f]?.idempotencyKey??null).message})}},"admitBatch"),release:s(async(d,u)=>{let l={tenantId:d.tenantId,runId:u},c=V(u)&&await e.deliveries.releaseIfHeld(l,r.publisherGraceSeconds),[m]=V(u)?await e.runs.byId([l]):[];if(m===void 0)throw new x("not_found","there is no such run",{fix:"Check the run id."});await o(m);let f=m.status==="FAILING"||m.status==="FAILED"||m.status.startsWith("CANCEL");if(!c&&(f||m.held)){let p=f?`the run is ${m.status}`:"the hold has expired";throw new x("hold_ended",`${p}: there is nothing left to release`,{fix:"Admit a new run."})}return{runId:u,enqueueSeq:m.enqueueSeq,released:c}},"release"),redrive:s((d,u,l)=>bg({...t,publish:s(async c=>{await Mr([c],e.traces.markMade,t.log),await o(c)},"publish"),settings:r},d,u,l),"redrive"),admitIn:s(async(d,u,l)=>{let c=await rs(t,u,l);await Tr(t.announce);let m=wo(d,e.schema),f=await bo(m,async()=>{let p=await e.runs.admitIn(m,[c],r),[h]=await Xa([c],p,{byKey:s(E=>bn(m,E),"byKey"),byId:s(()=>Promise.resolve([]),"byId")}),b=nn();return b!==void 0&&p.has(c.runId)&&await e.traces.markMadeIn(m,[{...c,enqueueSeq:1}],b),h});if(f===void 0||"conflict"in f)throw ts(c.idempotencyKey);return{admitted:Lr(f),tenantId:u.tenantId}},"admitIn"),publish:s(async({admitted:d,tenantId:u})=>{if(await e.beforeOpening(),d.held)return;let{runId:l,enqueueSeq:c,queue:m}=d,[f]=d.startsAt===null?[]:await e.runs.byId([{tenantId:u,runId:l}]),p=f?.dueInSeconds??0;p>We||await n.publish({tenantId:u,runId:l,enqueueSeq:c,queue:m,...xg(p)})},"publish")}}s(Eg,"createAdmission");function xg(t){return t>0?{delaySeconds:Math.min(We,Math.ceil(t))}:{}}s(xg,"delayOf");var a$=250,rn=class extends Error{static{s(this,"StillAskingError")}constructor(e){super(e),this.name="StillAskingError"}};function vg({services:t,origins:e,faults:n,stopMs:r=a$}){return{ask:s(async(o,i,a)=>{let d=Object.hasOwn(t,o)?t[o]:void 0;if(d===void 0)throw new Error(`the configuration has no service "${o.slice(0,100)}"`);let u=new AbortController,l={signal:u.signal,origins:e,...n===void 0?{}:{faults:n}},c=d$(d,i,l),m=c.then(()=>{},()=>{});try{return so(await re(c,a))}catch(f){if(u.abort(new DOMException("the question has ended","AbortError")),!await ce(m,r))throw new rn(T(f).message);let p=await c.then(so,()=>{});if(p===void 0||p.state==="unknown")throw f;return p}finally{u.abort(new DOMException("the question has ended","AbortError"))}},"ask")}}s(vg,"createDirectEgress");async function d$(t,e,n){return e.kind==="submit"?t.submit(e.job,n):t[e.kind](e.job,n)}s(d$,"put");var Ig={replayPatienceMs:1e3,settleReserveMs:2e3,transactionLimitMs:5e3,residentDelayMs:Kt,reservePollMs:1e3,residentReserveMs:Number.POSITIVE_INFINITY,parkRestMs:25,overdueAfterMs:6e4,actsMarginSeconds:60,lateStatementMs:16e3,leaseMs:12e4,beatMs:3e4,maxLosses:3,maxContainDeliveries:3,deployOverlapMs:36e5,ownerDeadlineMs:1e4,asksAtOnce:100,ownersAtOnce:4,giveBacksBeforeAttention:10,publisherGraceSeconds:15,replayCheck:!1,leaseHeld:!1};var u$=5e3,l$=1500;async function Ag(t,e,n){(t.checkpointGeneration!==null||t.cause==="contain")&&await Sg(t,"checkpoints",e,n),await td(t,e,n),await Sg(t,"record",e,n)}s(Ag,"afterEnd");async function td(t,e,n){await e.copies?.drain(t,nd(e,n),e.logFor(t))}s(td,"drainCopies");async function Rg({tenantId:t,runId:e,seq:n},r,o,i){let a=Math.min(l$,nd(o,i));await o.live.drain({tenantId:t,runId:e,enqueueSeq:n},a,r)}s(Rg,"drainLive");async function Sg(t,e,n,r){let o=nd(n,r);if(o!==0)try{await re(c$(t,e,n),o)}catch(i){n.logFor(t).warn("what follows the end of a run could not be done; the reconciler does it",{name:e,error:v(i)})}}s(Sg,"carryOut");async function c$(t,e,n){await n.faults(`worker.before-${e}`,t.runId),await n.ledger.evidence.carryOut(t,e),await n.faults(`worker.after-${e}`,t.runId)}s(c$,"carriedOut");function nd({settings:t},{remainingMs:e}){return Math.max(0,Math.min(u$,e()-t.settleReserveMs/2))}s(nd,"boundOf");var rd=s(({tenantId:t,runId:e,seq:n})=>({tenantId:t,runId:e,enqueueSeq:n}),"hopOf");function $g(t,e,{live:n}){let{seq:r,cause:o,claimedAt:i}=t;n.tell(rd(t),{kind:"claimed",at:i.toISOString(),enqueueSeq:r,worker:e,cause:o})}s($g,"tellClaimed");function os(t,e,n){n.tell(rd(t),od(e))}s(os,"tellEntry");function od(t){return{kind:"step",at:t.completedAt.toISOString(),enqueueSeq:t.seq,ordinal:t.ordinal,call:t.kind,name:t.name,scope:t.scope,nth:t.nth,outcome:t.outcome,tries:t.tries,startedAt:t.startedAt.toISOString()}}s(od,"stepOf");function Og(t,e,{live:n,clock:r}){let o=m$(e);if(o===void 0)return;let i=new Date(r.wallMs()).toISOString();n.tell(rd(t),{kind:"settled",at:i,enqueueSeq:t.seq,outcome:o})}s(Og,"tellEnded");function m$(t){switch(t.kind){case"settled":return t.status==="DONE"||t.status==="COMPLETING"?"done":"failed";case"parked":return"parked";case"handed_over":case"contained":return t.outcome;case"quarantined":return"given_back";case"fenced":case"unknown":return}}s(m$,"outcomeOf");var Et=3e4;function N(t,e,n){return{kind:"failed",failure:{code:t,name:"Refused",message:e,...n===void 0?{}:{step:n}}}}s(N,"refusal");function on(t){return t.kind==="yielded"||t.kind==="given_back"}s(on,"handsOver");function Cg(t,e){return t.kind==="fenced"||t.kind==="unknown"||e.kind==="restarted"&&f$(t)?!0:on(e)&&!on(t)}s(Cg,"overrules");function f$(t){return t.kind==="given_back"||t.kind==="failed"&&t.failure.code==="effect_unknown"}s(f$,"isOfAnEffect");async function ss(t){try{return await t()}catch(e){return{kind:"unknown",error:e}}}s(ss,"whatStops");function sd(t){let e=p$(t);if(e===void 0)return{kind:"failed",failure:{code:"workflow_failed",...T(t)}};let{name:n,message:r}=T(t);return{kind:"failed",failure:{code:"step_failed",name:n,message:r,...e}}}s(sd,"failureOf");function p$(t){try{if(!(t instanceof Gt))return;let e=t.failure.stack;return{step:String(t.step),...typeof e=="string"?{stack:e}:{}}}catch{return}}s(p$,"stepFailureIn");import{SpanStatusCode as b$}from"@opentelemetry/api";async function Dg(t){let{options:e}=t;for(let n=t.triesBefore+1;;n+=1){let r=await Pt(t,n);if(r.outcome==="ok")return{outcome:"ok",value:r.value,tries:n};if(id(r.thrown)||n>=e.tries)return{outcome:"error",failure:r.failure,tries:n};if(t.hopSignal.aborted)return{outcome:"abandoned",tries:n};t.log.warn("a try of a step failed",{step:t.name,try:n,error:Te(r.failure.name)});let i=bt(e.backoff,n+1,t.chance());if(i>t.residentDelayMs||t.handsOver())return{outcome:"later",tries:n,delayMs:i};if(await Fn(i,t.hopSignal),t.hopSignal.aborted)return{outcome:"abandoned",tries:n};if(t.whyNotNow()!==void 0)return{outcome:"later",tries:n,delayMs:0}}}s(Dg,"runStep");async function Pt(t,e){let{timeoutMs:n}=t.options,r=new AbortController,o=s(()=>r.abort(t.hopSignal.reason),"stop");t.hopSignal.addEventListener("abort",o,{once:!0}),t.hopSignal.aborted&&o();let i=!1,a=setTimeout(()=>{i=!0,r.abort(new DOMException(`step "${t.name}" did not end within ${n} ms`,"TimeoutError"))},n),d=setTimeout(t.onOverdue,n+t.overdueAfterMs);try{let{idempotencyKey:u}=t;return{outcome:"ok",value:await t.run({idempotencyKey:u,tryNumber:e,signal:r.signal,log:Bt(t.log)})}}catch(u){let l=T(u);return{outcome:"error",thrown:u,failure:i?{name:"TimeoutError",message:`it did not end within ${n} ms (then: ${l.message.slice(0,500)})`}:l}}finally{clearTimeout(a),clearTimeout(d),t.hopSignal.removeEventListener("abort",o)}}s(Pt,"callOnce");function id(t){return t instanceof Ye?!0:t instanceof Error&&t.name==="NonRetryableError"}s(id,"isNonRetryable");function Fn(t,e){return new Promise(n=>{if(e.aborted)return n();let r=s(()=>{clearTimeout(o),e.removeEventListener("abort",r),n()},"end"),o=setTimeout(r,t);e.addEventListener("abort",r,{once:!0})})}s(Fn,"pause");var lt=s(t=>({outcome:"stops",end:t}),"stops"),g$=1e3,h$=3e5;async function Ng(t,e){let n=t.lastNumber,r=t.triesUsed;if(t.openIntent!==void 0){let o=await y$(t,t.openIntent,e);if(o!=="cannot_happen")return o}if(r>=t.options.tries)return Pg(t,r,{name:"Error",message:"it did not happen"});for(;;){if(t.hopSignal.aborted)return{outcome:"abandoned",tries:r};let o=t.whyNotNow();if(o!==void 0)return lt(o);if(n+=1,r+=1,await e.faults("worker.before-intent",t.call.name),!await e.ledger.intents.openIfClaimed(t.claim,t.call,n))return lt({kind:"fenced"});await e.faults("worker.after-intent",t.call.name);let i=await Pt(qg(t,t.call.name,t.run),r);if(i.outcome==="ok")return{outcome:"ok",value:i.value,tries:r,closesIntent:!0};if(!(i.thrown instanceof At))return _$(t,r,i.failure);if(!await e.ledger.intents.closeIfClaimed(t.claim,t.call,n,"not_done"))return lt({kind:"fenced"});if(t.tried(n,r),r>=t.options.tries||t.hopSignal.aborted)return Pg(t,r,i.failure);let a=bt(t.options.backoff,r+1,e.chance());if(a>e.settings.residentDelayMs||t.handsOver())return{outcome:"later",tries:r,delayMs:a};await Fn(a,t.hopSignal)}}s(Ng,"onceStep");function qg(t,e,n){let{options:r,hopSignal:o,log:i,onOverdue:a,overdueAfterMs:d}=t,u=_t(t.claim.firstRunId,t.call);return{name:e,run:n,options:r,hopSignal:o,log:i,onOverdue:a,overdueAfterMs:d,idempotencyKey:u}}s(qg,"callOf");function Pg(t,e,n){return t.log.warn("an effect has certainly not happened",{step:t.call.name,tries:e}),{outcome:"error",failure:n,tries:e}}s(Pg,"failedForGood");function _$(t,e,n){return t.probe===void 0?lt(is(t,n.message)):(t.log.warn("the outcome of an effect is unknown; its probe is asked next",{step:t.call.name,try:e}),lt({kind:"given_back",dueAt:new Date(t.ledgerNowMs()+g$),why:`the outcome of "${t.call.name}" is unknown`}))}s(_$,"unknownOutcome");function is(t,e){let{name:n}=t.call;return N("effect_unknown",`effect "${n}" may or may not have happened: ${e.slice(0,500)}`,n)}s(is,"effectUnknown");async function y$(t,e,n){if(!e.over){let i=e.overAt??new Date(t.ledgerNowMs()+h$);return lt({kind:"given_back",dueAt:i,why:`an earlier worker may still carry out "${t.call.name}"`})}if(t.probe===void 0)return lt(is(t,"its worker was lost, and it has no probe"));let r=await ad(t.probe,t);return typeof r=="string"?lt(is(t,r)):r.outcome==="happened"?{outcome:"ok",value:r.result,tries:e.number,closesIntent:!0}:r.outcome==="unknown"?lt(is(t,"its probe does not know")):await n.ledger.intents.closeIfClaimed(t.claim,t.call,e.number,"cannot_happen")?"cannot_happen":lt({kind:"fenced"})}s(y$,"askAbout");async function ad(t,e){let n=await Pt(qg(e,`probe of ${e.call.name}`,t),1);return n.outcome==="error"?`its probe failed: ${n.failure.message.slice(0,300)}`:w$(n.value)?n.value:"its probe answered nothing that a probe answers"}s(ad,"probe");function w$(t){return typeof t!="object"||t===null||!("outcome"in t)?!1:t.outcome==="happened"||t.outcome==="cannot_happen"||t.outcome==="unknown"}s(w$,"isAnswer");async function Tg(t,{ledger:e}){let{call:n,claim:r,run:o,options:i,triesBefore:a}=t;if(i.undo===void 0)return{run:o,failed:s(()=>Promise.resolve(!0),"failed")};let d=await e.undos.startIfClaimed(r,n,i.once);if(d===null)return null;let u=i.once||d.again||a>0;return{run:s(async l=>{try{return await o(l)}catch(c){throw c instanceof At||(u=!0),c}},"run"),failed:s(async()=>u||e.undos.clearIfClaimed(r,n),"failed")}}s(Tg,"beginUndoable");function $e(t,e,n){return t.claimedAt.getTime()+e.clock.monotonicMs()-n.claimedAtMs}s($e,"ledgerNowMs");function zr(t,e,n,r,o){if(n.deadlineAt!==null&&$e(n,r,o)>=n.deadlineAt.getTime())return N("deadline",`the run's deadline has passed before step "${t}"`,t);if(e>o.remainingMs()-r.settings.settleReserveMs)return{kind:"yielded",why:"time"};if(!($e(n,r,o)<(o.holdsUntilMs??1/0)))return{kind:"yielded",why:"grant"}}s(zr,"whyNotNow");var sn=2**30;function k$({name:t}){return N("journal_mismatch",`step "${t}" was begun as an effect that happens once, and nobody knows whether it did; the code calls it as a plain step now`,t)}s(k$,"notPlain");function Lg(t,e){let{call:n,options:r,triesBefore:o}=t,i={"ghouls.run_id":t.claim.runId,"ghouls.step":n.name,"ghouls.once":r.once,"ghouls.tries_before":o};return et("ghouls.step",{attributes:i},async a=>{let d=await x$(t,e);return a.setAttribute("ghouls.outcome",d.outcome),d.outcome==="error"&&a.setStatus({code:b$.ERROR,message:Te(d.failure.name)}),d})}s(Lg,"liveStep");async function x$(t,e){let{call:n,claim:r,hopSignal:o,log:i,effects:a,invocation:d}=t,u=e.settings.leaseHeld?{...t.options,timeoutMs:sn}:t.options,l={options:u,hopSignal:o,log:i,overdueAfterMs:e.settings.overdueAfterMs,onOverdue:s(()=>an(t,e),"onOverdue"),handsOver:t.handsOver,whyNotNow:s(()=>zr(n.name,t.options.timeoutMs,r,e,d),"whyNotNow")};if(!u.once&&a.of(n).openIntent!==void 0)return{outcome:"stops",end:k$(n)};try{let c=s(async()=>(await e.faults("worker.before-step",n.name),Tg(t,e)),"begin"),m=await(u.undo===void 0?c():a.startInOrder(c));if(m===null)return{outcome:"stops",end:{kind:"fenced"}};let f=u.once?await Ng({...l,run:m.run,call:n,claim:r,probe:u.probe,...a.of(n),tried:s((p,h)=>a.tried(n,p,h),"tried"),ledgerNowMs:s(()=>$e(r,e,d),"ledgerNowMs")},e):await Dg({...l,run:m.run,name:n.name,triesBefore:t.triesBefore,idempotencyKey:_t(r.firstRunId,n),chance:e.chance,residentDelayMs:e.settings.residentDelayMs});return await e.faults("worker.after-step",n.name),f.outcome==="error"&&!await m.failed()?{outcome:"stops",end:{kind:"fenced"}}:f}catch(c){return u.once||u.undo!==void 0?{outcome:"stops",end:{kind:"unknown",error:c}}:{outcome:"error",failure:T(c),tries:1}}}s(x$,"stepped");function an({call:t,claim:e,log:n},r){Fr(e,ie("step_overdue",t.name),n,r)}s(an,"askForAPerson");async function Fr(t,e,n,r){try{await r.ledger.runs.raiseAttention(t,e)}catch(o){n.warn("attention could not be raised",{reason:e,error:v(o)})}}s(Fr,"raiseAttention");function Gr(t,e,n,r){return n.logFor(t).error("a codec could not do its work; the delivery goes back",{error:v(e)}),{kind:"given_back",dueAt:new Date($e(t,n,r)+Et),why:"a codec could not do its work"}}s(Gr,"afterCodec");function as(t){return q(JSON.stringify(t.map(e=>[e.ordinal,G(e),e.outcome,e.digest])))}s(as,"journalDigest");function Gn(t,e){return{workflowDigest:t.workflow.digest,journalLength:t.journalStart+e.length,journalDigest:as(e)}}s(Gn,"checkpointOf");var _e=class extends Error{static{s(this,"DisagreementError")}constructor(e){super(e),this.name="DisagreementError"}},Oe=class extends Error{static{s(this,"CodecError")}constructor(e){super(e),this.name="CodecError"}};async function Ce(t,e,n,r){if(e===null||q(t)!==e)throw new _e(`${n} disagrees with its digest`);try{return await r(t)}catch(o){throw o instanceof _e?o:new Oe(`${n}: ${T(o).message.slice(0,200)}`)}}s(Ce,"verified");async function ds(t,e,n){let r=t.journalLength-t.journalStart;if(e.length!==r)throw new _e(`the journal has ${e.length} entries, the run says ${r}`);let{tenantId:o}=t;return Promise.all(e.map(async(i,a)=>{let d=t.journalStart+a+1;if(i.ordinal!==d)throw new _e(`journal entry ${d} is missing`);let{ordinal:u,epoch:l,scope:c,kind:m,name:f,nth:p,outcome:h,tries:b,seq:E,startedAt:A,completedAt:F,resultText:M}=i,j=M===null?S$(i):await Ce(M,i.resultDigest,`journal entry ${u}`,H=>Mg(m)?n.decode(H,{tenantId:o,runId:i.storedFor,kind:"result"}):E$(m,H,{tenantId:o,runId:i.storedFor},n));return{ordinal:u,epoch:l,scope:c,kind:m,name:f,nth:p,outcome:h,text:j,tries:b,seq:E,startedAt:A,completedAt:F,digest:i.resultDigest}}))}s(ds,"loadJournal");function Mg(t){return t==="step"||t==="transaction"}s(Mg,"isOfFunction");function jg(t){return Mg(t)||t==="reserve"||t==="release"}s(jg,"isOfHop");async function E$(t,e,{tenantId:n,runId:r},o){if(t==="child")return v$(JSON.parse(e),n,o);let i=JSON.parse(e);if(i.report!==void 0)return I$(i,{tenantId:n,runId:r},o);let a={...i};return i.decisions!==void 0&&(a.decisions=await Promise.all(i.decisions.map(async d=>({...d,comment:d.comment===null?null:await o.decode(d.comment,{tenantId:n,runId:r,kind:"comment"})})))),i.payload!==void 0&&(a.payload=i.payload===null?null:JSON.parse(await o.decode(i.payload,{tenantId:n,runId:r,kind:"signal"}))),JSON.stringify(a)}s(E$,"decodeWaitResult");async function v$({outcome:t,runId:e,text:n=null,digest:r=null},o,i){if(n===null){if(r!==null)throw new _e(`the end of child ${e} is gone`);return JSON.stringify({outcome:t,runId:e})}let a=t==="DONE"?"output":"error",d=await Ce(n,r,`the ${a} of child ${e}`,u=>i.decode(u,{tenantId:o,runId:e,kind:a}));return JSON.stringify({outcome:t,runId:e,body:JSON.parse(d)})}s(v$,"decodeChild");async function I$(t,{tenantId:e,runId:n},r){let{report:o,digest:i,...a}=t,d=await Ce(o??"",i??null,"the report of a job",u=>r.decode(u,{tenantId:e,runId:n,kind:"report"}));return JSON.stringify({...a,[a.outcome==="FAILED"?"error":"result"]:JSON.parse(d)})}s(I$,"decodeReport");function S$(t){if(t.resultDigest!==null)throw new _e(`the result of journal entry ${t.ordinal} is gone`);return null}s(S$,"emptied");function zg(t,e,n){let r=`checkpoint ${t.checkpointGeneration}`;if(e===null)throw new _e(`${r} is missing`);if(e.workflowDigest!==t.workflow.digest)throw new _e(`${r} is of another workflow digest`);let o=e.journalLength-t.journalStart;if(e.journalDigest!==as(n.slice(0,o)))throw new _e(`${r} disagrees with the journal`);return o}s(zg,"verifyCheckpoint");async function ct(t,e){try{return await e()}catch(n){throw new Oe(`${t}: ${T(n).message.slice(0,200)}`)}}s(ct,"encoded");async function Ur(t){try{return await t()}catch(e){if(!(e instanceof Oe))throw e;let n="Ask again later: nothing was written.";throw new x("codec_unavailable",e.message,{fix:n,cause:e})}}s(Ur,"withCodec");var A$={openIntent:void 0,lastNumber:0,triesUsed:0};async function Fg(t,e){let n=t.seq===1?new Map:await R$(t,e),r=Promise.resolve();return{of:s(o=>n.get(G(o))??A$,"of"),tried:s((o,i,a)=>{n.set(G(o),{openIntent:void 0,lastNumber:i,triesUsed:a})},"tried"),open:s(()=>[...n.values()].flatMap(({openIntent:o})=>o??[]),"open"),startInOrder:s(o=>{let i=r.then(o);return r=i.catch(()=>{}),i},"startInOrder")}}s(Fg,"loadEffects");async function R$(t,e){let[n,r]=await Promise.all([e.ledger.intents.openOfRun(t),e.ledger.intents.lastOfRun(t)]),o=new Map(n.map(i=>[G(i),i]));return new Map(r.map(i=>{let a=G(i);return[a,{openIntent:o.get(a),lastNumber:i.number,triesUsed:i.tries}]}))}s(R$,"readEffects");async function Gg(t,e){let n=t.checkpointGeneration===null?[]:await e.ledger.arms.retriesOfRun(t,t.epoch),r=new Map(n.map(o=>[G(o.call),o]));return{of:s(o=>{let i=r.get(G(o));return{triesBefore:i?.tries??0,dueAt:i?.dueAt??null}},"of")}}s(Gg,"loadRetries");async function Un(t,e,n){let r=t.journalLength===t.journalStart?[]:await ds(t,await n.ledger.journal.read(t,t.journalStart),n.codec),o=r.findLastIndex(({kind:f})=>jg(f))+1;if(t.checkpointGeneration!==null){let f=await n.ledger.checkpoints.read(t,t.checkpointGeneration);o=Math.max(o,zg(t,f,r))}let{tenantId:i,inputStoredFor:a}=t,d=await Ce(t.inputText,t.inputDigest,"the input",f=>n.codec.decode(f,{tenantId:i,runId:a,kind:"input"})),u=await Ug(e,d);if("problem"in u)return N("input_invalid",`the input does not fit the workflow's schema: ${u.problem}`);let[l,c,m]=await Promise.all([Fg(t,n),Gg(t,n),t.seq===1?[]:n.ledger.arms.openOfRun(t)]);return{input:u.value,journal:r,effects:l,retries:c,arms:m,seen:o}}s(Un,"loadMaterial");function Wn(t){return"journal"in t}s(Wn,"isMaterial");async function us(t,e){let n=await Ug(t,e);return"problem"in n?n.problem:void 0}s(us,"inputProblem");async function Ug(t,e){try{let n=await t.input.safeParseAsync(JSON.parse(e));return n.success?{value:n.data}:{problem:n.error.message.slice(0,1500)}}catch(n){return{problem:T(n).message}}}s(Ug,"inputOf");var $$=100,O$=2e3;async function we(t,e){for(let n=$$;;n=Math.min(O$,n*2))try{return await t()}catch(r){if(!(r instanceof W)||r.kind==="defect"||r.kind==="schema"||!e.mayGoOn()||(e.onPause(r),await new Promise(o=>setTimeout(o,n*(.5+e.chance()/2))),!e.mayGoOn()))throw r}}s(we,"persist");function dd(t){let{title:e,deciders:n,quorum:r,expiresMs:o,onExpiry:i,requesterMayDecide:a,detail:d}=t;return{title:e,deciders:n,quorum:r,expiresMs:o,onExpiry:i,requesterMayDecide:a,detail:d===void 0?null:JSON.parse(d)}}s(dd,"contentOf");function Wg({service:t,definition:e,requestText:n}){let{adapter:r,version:o}=e;return Se({service:t,adapter:r,version:o,request:JSON.parse(n)})}s(Wg,"contentOfJob");async function Wr(t,e,n,r){return n?.consent!==void 0?P$(t,e,n.consent,r):n?.child!==void 0?C$(t,e,n.child,r):n?.job===void 0?void 0:D$(t,e,n.job,r)}s(Wr,"digestOfFrozen");function ud({workflow:t,inputText:e}){let{name:n,version:r}=t.definition;return Se({workflow:n,version:r,input:JSON.parse(e)})}s(ud,"contentOfChild");async function C$({tenantId:t},e,n,{ledger:r,codec:o}){let i=await r.runs.get({tenantId:t,runId:e});if(i===null)return;let a=await Je(o,ud(n));if(i.requestDigest===a)return a;if(i.inputText===null)return;let d=await Ce(i.inputText,i.inputDigest,"a child's input",m=>o.decode(m,{tenantId:t,runId:e,kind:"input"})),{name:u,version:l}=n.workflow.definition;return i.workflow.name===u&&i.workflow.version===l&&d===n.inputText?i.requestDigest:void 0}s(C$,"digestOfSameChild");async function D$(t,e,n,{ledger:r,codec:o}){let{tenantId:i,runId:a}=t,d=await r.attempts.get({tenantId:i,attemptId:e});if(d===null)return;let u=await Ce(d.requestText,d.storedDigest,"a job's request",f=>o.decode(f,{tenantId:i,runId:a,kind:"job"})),{adapter:l,version:c}=n.definition;return u===n.requestText&&(d.service===n.service||n.among.includes(d.service))&&d.adapter===l&&d.adapterVersion===c?d.requestDigest:void 0}s(D$,"digestOfSameJob");async function P$(t,e,n,{ledger:r,codec:o}){let{tenantId:i,runId:a}=t,d=await r.consents.get({tenantId:i,consentId:e});if(d===null)return;let u=await Ce(d.requestText,d.storedDigest,"a consent's request",p=>o.decode(p,{tenantId:i,runId:a,kind:"consent"})),l=dd(n),c=JSON.parse(u),m=Object.keys(l),f=Object.fromEntries(m.map(p=>[p,c[p]]));return Se(f)===Se(l)?d.requestDigest:void 0}s(P$,"digestOfSameRequest");function ld({arms:t,effects:e}){return[...t.flatMap(({call:r})=>r.kind==="step"?[]:[r]),...e.open()]}s(ld,"callsOf");async function Bg(t,e,n,r){let o=new Map(n.map(d=>[d.key,d])),i=ld(e).find(d=>!o.has(G(d)));if(i!==void 0)return`${Fe(i)} stands open, and the code does not ask for it`;let a=e.effects.open().find(d=>o.get(G(d))?.step?.once!==!0);if(a!==void 0)return`nobody knows whether the effect of ${Fe(a)} has happened, and the code calls it as a plain step`;for(let{call:d,consentId:u,attemptId:l,childRunId:c}of e.arms){let m=u??l??c;if(m!==null&&await Wr(t,m,o.get(G(d))?.wait,r)===void 0)return`${Fe(d)} was frozen with another request than the code asks for`}}s(Bg,"takeoverProblem");async function Kg(t,e,n,r,o,i,a){let d=r.find(l=>G(l.call)===e.key),u=await ss(()=>d===void 0?q$(t,e,n,o,i):N$(t,e,n,d,o));return u===void 0?{outcome:"stands"}:u.kind!=="unknown"||!(u.error instanceof Oe)?{outcome:"stops",end:u}:{outcome:"stops",end:Gr(t,u.error,o,a)}}s(Kg,"startChild");async function N$(t,e,n,{childRunId:r,requestDigest:o},i){if(await Hg(n,i)===o||await Wr(t,r??"",e.wait,i)!==void 0)return;let{name:a}=e.id;return N("journal_mismatch",`child "${a}" was started with another request than the code asks for now: the code has changed or is not deterministic`,a)}s(N$,"problemOfStarted");function Hg(t,{codec:e}){return ct("the request of a child",()=>Je(e,ud(t)))}s(Hg,"digestOf");async function q$(t,e,n,r,o){let{definition:i,digest:a}=n.workflow,{name:d}=e.id,u=await us(i,n.inputText);if(u!==void 0)return N("invalid_call",`child "${d}": its input does not fit workflow "${i.name}": ${u}`,d);let[l,c]=[r.ids.next(),r.ids.next()],{tenantId:m}=t,f={tenantId:m,runId:c,kind:"input"},p=await ct(`the input of child "${d}"`,()=>r.codec.encode(n.inputText,f)),h=n.queue??i.queue??rr,b={armId:l,call:e.id,runId:c,requestDigest:await Hg(n,r),workflow:{name:i.name,version:i.version,digest:a},queue:h,priority:n.priority,inputText:p,inputDigest:q(p),deadlineMs:i.deadlineMs??null,onWorkerLoss:i.onWorkerLoss,parentClose:n.parentClose},{publisherGraceSeconds:E}=r.settings;await r.faults("worker.before-child",d);let A=await we(()=>r.ledger.children.startIfClaimed(t,b,{publisherGraceSeconds:E}),o);if(await r.faults("worker.after-child",d),!A)return{kind:"fenced"};await Mr([{tenantId:m,runId:c,enqueueSeq:1}],r.ledger.traces.markMade,r.logFor(t)),await r.publisher.publish({tenantId:m,runId:c,enqueueSeq:1,queue:h})}s(q$,"start");async function Jg(t,e,n){let{tenantId:r,runId:o,parentRunId:i}=t;if(i!==null)try{await e.faults("worker.before-tell-parent",o);let{resumption:a}=await e.ledger.children.tellParent({tenantId:r,runId:o,parentRunId:i},e.settings.publisherGraceSeconds);await e.faults("worker.after-tell-parent",o),a!==null&&await e.publisher.publish(a)}catch(a){n.warn("the parent of a run could not be told of its end; the reconciler does it",{parentRunId:i,error:v(a)})}}s(Jg,"tellParent");function Me(t){return typeof t=="string"&&t!==""&&t.length<=200&&!t.includes("\0")&&t.isWellFormed()}s(Me,"isCallName");function je(t){return`the name of a ${t} is a text of 1 to 200 characters`}s(je,"notAName");var T$=new Set(["deciders","quorum","expires","onExpiry","detail","requesterMayDecide","source"]),L$=new Set(["schema","timeout"]),M$=/^(?:role|user):[\x21-\x7e]{1,200}$/,ls=100;function Vg(t,e,n,r){return dn("consent",t,e,T$,o=>{let{deciders:i,quorum:a=1,onExpiry:d="expire",requesterMayDecide:u=!1}=e??{},l=e?.source??null;if(!Array.isArray(i)||i.length===0||i.length>ls)return`name 1 to ${ls} deciders, such as deciders: ["role:legal"]`;let c=i.find(h=>typeof h!="string"||!M$.test(h));if(c!==void 0)return`"${String(c).slice(0,100)}" is no decider: write "role:<name>", or "user:<subject of a key>"`;if(!Number.isInteger(a)||a<1||a>ls)return`quorum is a whole number from 1 to ${ls}`;let m=new Set(i);if(a>m.size&&!i.some(cr))return`a quorum of ${a} cannot be reached by ${m.size} deciders`;if(!Rt.includes(d))return`onExpiry is one of ${Rt.join(", ")}`;if(l!==null&&!n.includes(l))return`source "${String(l).slice(0,100)}" is not among the decision sources of the configuration`;if(l===null&&u!==!0&&new Set(i.filter(b=>!co(b,r))).size<a&&!i.some(cr))return`it cannot be granted: ${r} has asked for the run, and so may not decide. Name other deciders, or set requesterMayDecide: true`;let f=j$(e?.detail),p={title:o,deciders:[...m].toSorted((h,b)=>h<b?-1:1),quorum:a,expiresMs:e?.expires===void 0?null:ne(e.expires),onExpiry:d,requesterMayDecide:u===!0,detail:f,source:l};return{name:o,wait:{owner:"consent",dueAt:null,tries:null,consent:p}}})}s(Vg,"understandConsent");function j$(t){try{return de(t)}catch(e){throw e instanceof se?new x("configuration_invalid",`its detail cannot be kept: ${e.message}`,{fix:`Give JSON of at most ${Wt} bytes.`}):e}}s(j$,"detailOf");var z$=new Date("9999-12-31T23:59:59.999Z");function Yg(t,e,n){if(typeof t!="string"&&!(t instanceof Date))return`sleep: ${typeof t} is no time: give a duration such as "3d", or a Date`;let r=t instanceof Date?F$(t):t;return dn("sleep",e?.name??r,e,new Set(["name"]),o=>{let i=t instanceof Date?new Date(t):new Date(n.getTime()+ne(String(t)));if(Number.isNaN(i.getTime()))return"it is until no moment: the Date is invalid";if(i>z$)return"it is until a moment that the ledger cannot keep: give one before the year 10000";let a=i<n?n:i;return{name:o,wait:{owner:"timer",dueAt:a,tries:null,receive:s(()=>{},"receive")}}})}s(Yg,"understandSleep");function F$(t){return Number.isNaN(t.getTime())?"invalid date":t.toISOString()}s(F$,"momentOf");function Qg(t,e,n){return dn("signal",t,e,L$,r=>{if(!st.SIGNAL_NAME.test(r))return`nobody could send it: the name of a signal is ${st.SIGNAL_NAME_RULE}`;let{schema:o,timeout:i}=e??{};if(o!==void 0&&typeof o.safeParse!="function")return"its schema is none of zod's";let a=i===void 0?null:new Date(n.getTime()+ne(i));return{name:r,wait:{owner:"signal",dueAt:a,tries:null,receive:s(d=>G$(d,o),"receive")}}})}s(Qg,"understandSignal");function G$(t,e){let{outcome:n,payload:r}=t;if(n!=="RECEIVED"||e===void 0)return t;try{let o=e.safeParse(r);return o.success?{...t,payload:o.data}:{...t,outcome:"INVALID",problem:o.error.message.slice(0,1500)}}catch(o){let i=`the schema threw: ${String(o).slice(0,500)}`;return{...t,outcome:"INVALID",problem:i}}}s(G$,"received");function dn(t,e,n,r,o){if(!Me(e))return je(t);let i=`${t} "${e}"`;if(n!==void 0&&(typeof n!="object"||n===null))return`${i}: its options are an object`;let a=Object.keys(n??{}).find(d=>!r.has(d));if(a!==void 0)return`${i}: option "${a}" is not known in this version (known: ${[...r].join(", ")})`;try{let d=o(e);return typeof d=="string"?`${i}: ${d}`:d}catch(d){if(!(d instanceof x))throw d;return`${i}: ${d.message}${d.fix===void 0?"":`. ${d.fix}`}`}}s(dn,"understood");var U$=new Set(["name","parentClose","queue","priority"]);function Xg(t,e,n,r,o){let i=n?.name??W$(t);return i===void 0?"ctx.child: its first argument is a workflow: pass what workflow({ \u2026 }) has made":dn("child",i,n,U$,a=>{let d=r.all().find(({definition:p})=>p===t);if(d===void 0)return"its workflow is not in the configuration: name it in workflows, and pass that very object";let{parentClose:u="cancel",queue:l,priority:c}=n??{};if(!lo.includes(u))return`parentClose is one of ${lo.join(", ")}`;if(l!==void 0&&!o.includes(l))return`there is no queue "${String(l).slice(0,100)}"; configured are ${o.join(", ")}`;if(c!==void 0&&!(Number.isInteger(c)&&c>=0&&c<=9))return"priority is a whole number from 0 to 9";let m=B$(e);if("problem"in m)return`its input ${m.problem}`;let f={workflow:d,inputText:m.text,parentClose:u,queue:l??null,priority:c??null};return{name:a,wait:{owner:"child",dueAt:null,tries:null,child:f,receive:K$}}})}s(Xg,"understandChild");function W$(t){let e=t?.name;return typeof e=="string"?e:void 0}s(W$,"nameOf");function B$(t){try{return{text:Se(JSON.parse(de(t)??"null"))}}catch(e){return e instanceof se?{problem:e.message}:{problem:`cannot be read: ${T(e).message.slice(0,300)}`}}}s(B$,"inputOf");function K$(t){let{outcome:e,runId:n,body:r}=t;return e==="DONE"?{outcome:e,runId:n,result:r}:e==="FAILED"?{outcome:e,runId:n,error:r}:{outcome:e,runId:n}}s(K$,"receive");import{AsyncLocalStorage as H$}from"node:async_hooks";var cd=new H$;function Ve(t,e){return cd.run(t,e)}s(Ve,"standIn");function Nt(){return cd.getStore()}s(Nt,"whereAmI");function Zg(t){let e=cd.getStore();return e===void 0?!1:(e.hop.fail(t),!0)}s(Zg,"blameHop");function th(t){return t!==void 0&&st.CALLBACK_TOKEN.test(t)}s(th,"isCallbackToken");function md({tenantId:t,runId:e,attemptId:n},r){return q(`ghouls-callback-1
${JSON.stringify([t,e,n,r])}`)}s(md,"callbackDigest");var J$="0".repeat(64);function cs(t,e,n){let r=md(t??{tenantId:"",runId:"",attemptId:""},n);return jt(r,e??J$)&&t!==null}s(cs,"isTokenOf");var eh=43,V$=/(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43,128}(?![A-Za-z0-9_-])/g;function fd(t,e){if(t.callbackDigest===null)return!1;let n=new Set;for(let[r]of e.matchAll(V$))for(let o=0;o+eh<=r.length;o+=1)n.add(r.slice(o,o+eh));return[...n].some(r=>cs(t,t.callbackDigest,r))}s(fd,"repeatsToken");var Y$=10,nh=30,Q$=86400;function oh({cancelAsked:t,overdue:e,armOpen:n,parked:r}){return t||e||!n?"no":r?"now":"later"}s(oh,"demandOf");function vt(t){let{status:e,traits:n,late:r,remembered:o,acknowledgedAt:i,submissions:a,misses:d,unsent:u}=t;return{status:e,traits:n,late:r,remembered:o,acknowledged:i!==null,demand:oh(t),submissions:a,misses:d,unsent:u}}s(vt,"askedOf");function un({adapter:t,version:e,identity:n}){return q(Se({adapter:t,version:e,identity:n}))}s(un,"digestOfService");function mt(t,e){if(e==="DEFINED"||t.unsent)return nh;let n=t.status===e?t.looks+1:0;return(e==="SUBMITTED"||e==="RUNNING")&&oh(t)!=="no"?eo(t.pollSeconds??Q$,n):eo(e==="SUBMITTING"?Y$:nh,n)}s(mt,"secondsToNextLook");var rh="what it gave repeats the callback's token, a secret";async function Bn(t,e,n){if(e.state==="unknown"||e.state==="unsent"){let d=fd(t,e.why)?rh:e.why;return{answer:{state:e.state,why:d}}}if(e.state!=="succeeded"&&e.state!=="failed")return{answer:e};let r;try{let d=e.state==="succeeded"?e.result??null:eO(e.error);r=Ii(de(d)??"null").canonical}catch(d){if(!(d instanceof se)&&!(d instanceof x))throw d;return{answer:{state:"unknown",why:`what it gave cannot be kept: ${T(d).message}`}}}if(fd(t,r))return{answer:{state:"unknown",why:rh}};let{tenantId:o,runId:i}=t,a=await ct("the report of a job",()=>n.encode(r,{tenantId:o,runId:i,kind:"report"}));return{answer:e,outcome:{report:{reportText:a,reportDigest:q(a)},canonical:r}}}s(Bn,"outcomeOf");var X$=200,Z$=2e3;function eO({code:t,message:e}){let n=s((r,o)=>r.slice(0,o).replaceAll("\0","\uFFFD").toWellFormed(),"cut");return{code:n(t,X$)||"unknown",message:n(e,Z$)}}s(eO,"bounded");function sh({status:t},e,n,r){let o=s(i=>`it is ${t}, and then the service said that ${i}`,"said");switch(e.state){case"succeeded":case"failed":return t===(e.state==="succeeded"?"SUCCEEDED":"FAILED")&&n!==void 0&&(r===void 0||r===n.canonical)?void 0:o(e.state==="failed"?"it failed":"it succeeded, with another result");case"cancelled":return t==="CANCELLED"?void 0:o("it was cancelled");case"accepted":case"running":return t==="CANCELLED"?o("it runs"):void 0;case"absent":case"unsent":case"unknown":return}}s(sh,"contradictionOf");var tO=new Set(["deadline","heartbeat"]);function ah(t,e,n,r,{services:o,byExecutor:i}){return dn("delegate",t,r,tO,a=>{let d=oO(e,o,i===!0);if(d===void 0)return i===!0?rO:nO;let{name:u,among:l,isUnclear:c,definition:m}=d,f=iO(m,n);if("problem"in f)return`its request ${f.problem}`;let p=r?.heartbeat,h={service:u,among:l,isUnclear:c,definition:m,requestText:f.canonical,deadlineMs:r?.deadline===void 0?null:ne(r.deadline),heartbeatMs:p===void 0?m.times.heartbeatMs:ne(p)};return h.deadlineMs===0||h.heartbeatMs===0?"its deadline and its heartbeat are not 0":{name:a,wait:{owner:"delegate",dueAt:null,tries:null,job:h,receive:s(b=>aO(b,m),"receive")}}})}s(ah,"understandJob");var nO="its service is not in the configuration: name it in services, and pass that very object",rO="no service of the configuration is the executor that this release asks for: keep one with that adapter and address in services until its runs have ended";function oO(t,e,n){if(!n){let u=Object.entries(e).find(([,l])=>l===t);return u&&{name:u[0],among:[],isUnclear:!1,definition:u[1]}}if(!sO(t))return;let r=un(t),o=Object.entries(e).filter(([,u])=>un(u)===r),i=o.filter(([,u])=>ih(u)===ih(t)),[a]=i.length===1?i:o,d=o.map(([u])=>u);return a&&{name:a[0],among:d,isUnclear:o.length>1&&i.length!==1,definition:t}}s(oO,"nameOfService");function ih({traits:t,times:e}){return Se({...t,...e})}s(ih,"manner");function dh(t,e){if(t.kind!=="parked")return;let n=new Set(e.map(({call:a})=>G(a))),r=t.standing.find(({key:a,wait:d})=>d?.job?.isUnclear===!0&&!n.has(a));if(r===void 0)return;let o=r.wait?.job?.among.join(", ")??"",{name:i}=r.id;return N("invalid_call",`ctx.delegate "${i}": several services of the configuration (${o}) are the executor that this release asks for: keep one with that adapter and address until its runs have ended`,i)}s(dh,"unclearJob");function sO(t){return typeof t=="object"&&t!==null&&"identity"in t&&"request"in t&&"result"in t}s(sO,"isService");function iO({request:t},e){try{de(e);let n=t.safeParse(e);if(!n.success)return{problem:`does not fit the service's schema: ${n.error.message.slice(0,1500)}`};let r=de(n.data)??"null";return{canonical:Se(JSON.parse(r))}}catch(n){return n instanceof se?{problem:`cannot be sent: ${n.message}`}:{problem:`made its schema throw: ${T(n).message.slice(0,500)}`}}}s(iO,"requestOf");function aO(t,{result:e}){let{outcome:n,attemptId:r,result:o}=t;if(n!=="SUCCEEDED")return t;let i=s(a=>({outcome:"INVALID",attemptId:r,result:o,problem:a}),"invalid");try{let a=e.safeParse(o);return a.success?{outcome:n,attemptId:r,result:a.data}:i(a.error.message.slice(0,1500))}catch(a){return i(`the schema threw: ${T(a).message.slice(0,500)}`)}}s(aO,"received");var dO=10,uh=1e3,lh=1e4,ch=new Set(["concurrency"]);function mh(t,e,n,r){if(!Me(t))return je("map");let o=`map "${t}"`;if(!Array.isArray(e))return`${o}: its items are an array`;if(e.length>lh)return`${o}: it has ${e.length} items, ${lh} is the most. Let children or ctx.restart carry a part each`;if(typeof n!="function")return`${o} has no function`;if(r!==void 0&&(typeof r!="object"||r===null))return`${o}: its options are an object`;let i=Object.keys(r??{}).find(d=>!ch.has(d));if(i!==void 0)return`${o}: option "${i}" is not known in this version (known: ${[...ch].join(", ")})`;let a=r?.concurrency??dO;return!Number.isInteger(a)||a<1||a>uh?`${o}: concurrency is a whole number from 1 to ${uh}`:{name:t,items:[...e],concurrency:a}}s(mh,"understandMap");function fh({items:t,concurrency:e},n){return new Promise((r,o)=>{let i=Array.from({length:t.length}),[a,d,u]=[0,0,!1];t.length===0&&r(i);let l=s(()=>{if(u||a>=t.length)return;let c=a;a+=1,n(t[c],c).then(m=>{i[c]=m,d+=1,d===t.length?r(i):l()},m=>{u=!0,o(m)})},"begin");for(let c=0;c<e;c+=1)l()})}s(fh,"eachItem");function ph(t,e,n){return Object.defineProperty(t,"constructor",{get:s(()=>{let r=uO();return r===void 0?n():e(r),Promise},"get")})}s(ph,"guardAgainstRace");function uO(){let{stackTraceLimit:t}=Error;Error.stackTraceLimit=6;let{stack:e}=new Error;return Error.stackTraceLimit=t,typeof e=="string"?/at (Promise\.(?:race|any)) \(<anonymous>\)/.exec(e)?.[1]:void 0}s(uO,"racingNow");import{setTimeout as lO}from"node:timers/promises";function ft(){return new Promise(t=>setImmediate(t))}s(ft,"comeToRest");function gh(){return lO(5)}s(gh,"briefly");function hh(){return process.getActiveResourcesInfo().some(t=>t.startsWith("FSReq"))}s(hh,"readsFiles");function It(){let{promise:t,resolve:e,reject:n}=Promise.withResolvers();return t.catch(()=>{}),{promise:t,resolve:e,reject:n}}s(It,"deferred");var cO=/[%/[\]{}#]/g;function _h(t,e){return`${t}[${e}]`}s(_h,"itemScope");function fs(t){return`${t}{}`}s(fs,"reserveScope");var ms=class{static{s(this,"Scopes")}#e=new Map;#t=new Set;enter(e,n,r){let o=JSON.stringify([e,n,r]);if(this.#t.has(o))return;this.#t.add(o);let i=(this.#e.get(o)??0)+1;this.#e.set(o,i);let a=`${r.replace(cO,encodeURIComponent)}${i===1?"":`#${i}`}`;return{path:e===""?a:`${e}/${a}`,leave:s(()=>{this.#t.delete(o)},"leave")}}};function pd(t,e){return e===void 0?0:(e.capacity===t?e.units:0)+pd(t,e.outer)}s(pd,"heldOf");var mO=10*6e4,yh=new Set(["units","wait","name"]);function wh(t,e,n){if(typeof t!="string")return"reserve: its first argument is the name of a capacity";if(typeof e!="object"||e===null)return`reserve "${t}": its options are an object, such as {}`;let{name:r=t,units:o=1,wait:i}=e;if(!Me(r))return je("reserve");let a=`reserve "${r}"`;if(typeof n!="function")return`${a} has no function`;let d=Object.keys(e).find(u=>!yh.has(u));if(d!==void 0)return`${a}: option "${d}" is not known in this version (known: ${[...yh].join(", ")})`;if(!Number.isInteger(o)||o<1)return`${a}: units is a whole number from 1`;try{return{name:r,capacity:t,units:o,waitMs:i===void 0?mO:ne(i)}}catch(u){if(!(u instanceof x))throw u;return`${a}: ${u.message}${u.fix===void 0?"":`. ${u.fix}`}`}}s(wh,"understandReserve");function bh(t,e){if(!Object.hasOwn(e,t))return`reserve: there is no capacity "${t.slice(0,100)}"; configured are ${Object.keys(e).join(", ")||"none"}`}s(bh,"whyNoCapacity");function kh(t,{capacity:e,units:n},r,o){let i=`reserve "${t}": it asks for ${n} units`;if(n>r)return`${i}, and "${e}" has ${r}: it could never have them`;if(o+n>r)return`${i} inside a reservation of ${o}, and "${e}" has ${r}: it could never have them. Reserve all at once`}s(kh,"whyNeverHad");var fO=6e4,Br=100,xh=new Set(["tries","backoff","timeout","effect","probe","undo"]);function Eh(t,e,n,r){if(!Me(t))return je("step");if(typeof e!="function")return`step "${t}" has no function`;let o=Object.keys(n??{}).find(i=>!xh.has(i));if(o!==void 0)return`step "${t}": option "${o}" is not known in this version (known: ${[...xh].join(", ")})`;try{return pO(t,n??{},r)}catch(i){if(!(i instanceof x))throw i;return`step "${t}": ${i.message}${i.fix===void 0?"":`. ${i.fix}`}`}}s(Eh,"resolveStep");function pO(t,e,n){let r=e.tries??1;if(!Number.isInteger(r)||r<1||r>Br)return`step "${t}": tries is a whole number from 1 to ${Br}`;let o=e.timeout===void 0?Math.min(fO,n/2):ne(e.timeout);return o<=0||o>n?`step "${t}": a timeout of ${e.timeout} does not fit the function's limit of ${Math.floor(n/1e3)} s`:e.effect!==void 0&&e.effect!=="once"?`step "${t}": effect can only be "once"`:e.probe!==void 0&&(e.effect!=="once"||typeof e.probe!="function")?`step "${t}": a probe is a function, and belongs to a step with effect: "once"`:e.undo!==void 0&&typeof e.undo!="function"?`step "${t}": an undo is a function`:{tries:r,timeoutMs:o,once:e.effect==="once",probe:e.probe,undo:e.undo,backoff:lr(e.backoff)}}s(pO,"resolved");var vh=new Set(["tries","backoff","timeout"]);function Ih(t,e,n,r){if(!Me(t))return je("transaction");if(typeof e!="function")return`transaction "${t}" has no function`;let o=Object.keys(n??{}).find(i=>!vh.has(i));if(o!==void 0)return`transaction "${t}": option "${o}" is not known in this version (known: ${[...vh].join(", ")})`;try{let i=gO(n??{},r);return typeof i=="string"?`transaction "${t}": ${i}`:i}catch(i){if(!(i instanceof x))throw i;return`transaction "${t}": ${i.message}${i.fix===void 0?"":`. ${i.fix}`}`}}s(Ih,"resolveTransaction");function gO(t,{transactionMs:e,functionMs:n}){let r=t.tries??1;if(!Number.isInteger(r)||r<1||r>Br)return`tries is a whole number from 1 to ${Br}`;let o=t.timeout===void 0?Math.min(e,n/2):ne(t.timeout);if(o<=0||o>e)return`a timeout of ${t.timeout} is not taken: a transaction lasts ${e} ms at most, because others wait for what it has locked. Do what is slow in a step before it`;if(o>n)return`a timeout of ${t.timeout} does not fit the function's limit of ${Math.floor(n/1e3)} s`;let i=lr(t.backoff);return r>1&&bt(i,r,1)>Kt?`its backoff comes to delays above ${Kt} ms, for which its worker would stay: give it a smaller max, or catch its failure and ctx.sleep before another one`:{tries:r,timeoutMs:o,once:!1,probe:void 0,undo:void 0,backoff:i}}s(gO,"resolve");var gs=class{static{s(this,"Asking")}#e;#t=new ms;constructor(e){this.#e=e}step(e,n,r){return this.#s("step",e,()=>{let o=Eh(e,n,r,this.#e.stepLimitMs);return typeof o=="string"?o:{name:e,step:o,run:n}})}transaction(e,n,r){return this.#s("transaction",e,()=>{let{stepLimitMs:o,transactionLimitMs:i}=this.#e,a=Ih(e,n,r,{transactionMs:i,functionMs:o});return typeof a=="string"?a:{name:e,step:a,run:n}})}consent(e,n,r){let o=Object.keys(this.#e.deps.decisionSources);return this.#o("consent",()=>Vg(e,n,o,r))}delegate(e,n,r,o){let{delegation:i}=this.#e.deps;return this.#o("delegate",()=>ah(e,n,r,o,i))}child(e,n,r){let{registry:o,queues:i}=this.#e.deps;return this.#o("child",()=>Xg(e,n,r,o,i))}sleep(e,n){return this.#o("sleep",()=>Yg(e,n,this.#e.now()))}signal(e,n){return this.#o("signal",()=>Qg(e,n,this.#e.now()))}map(e,n,r,o){let i=this.#i("map","");if(i!==void 0)return i;let a=mh(e,n,r,o);if(typeof a=="string")return this.#c(a);let d=this.#t.enter(Kr(),"map",a.name);if(d===void 0)return this.#f(N("duplicate_call",gd("map",a.name)));let u=fh(a,(l,c)=>{let m={hop:this.#e.hop,scope:_h(d.path,c),step:void 0,held:ps()};return Ve(m,async()=>r(l,c))}).finally(d.leave);return u.catch(()=>{}),u}reserve(e,n,r){let o=this.#i("reserve","");if(o!==void 0)return o;let[i,a]=[Kr(),ps()],d=wh(e,n,r);if(typeof d=="string")return this.#c(d);let u=this.#l(i,`reserve "${d.name}"`);if(u!==void 0)return u;let{name:l,...c}=d,m=this.#t.enter(i,"reserve",l);if(m!==void 0&&Sh(fs(m.path),l))return this.#c(Ah(l));let f=m&&this.#e.calls.next(this.#e.epoch,i,"reserve",l);if(m===void 0||f===void 0)return this.#f(N("duplicate_call",gd("reserve",l)));let p=this.#e.calls.open(f,{step:void 0,wait:void 0,reserve:{...c,scope:fs(m.path),inside:pd(c.capacity,a)},start:s(()=>{let E=bh(d.capacity,this.#e.deps.capacities);E===void 0?this.#e.startReserve(p):this.#c(E)},"start")});this.#e.opened(p);let{units:h}=c,b=this.#n(p,m,{capacity:e,units:h,name:l,outer:a},r);return b.catch(()=>{}),b}async#n(e,n,r,o){let{outcome:i}=await e.result.promise;if(i!=="RESERVED")return n.leave(),{outcome:"UNAVAILABLE"};let a={hop:this.#e.hop,scope:fs(n.path),step:void 0,held:r};try{return{outcome:"RESERVED",value:await Ve(a,async()=>await o())}}finally{await this.#r(e,a.scope),n.leave()}}#r({id:e},n){if(this.#e.hasEnded())return this.#u();let r={epoch:this.#e.epoch,scope:n,kind:"release",name:e.name,nth:1},o=this.#e.calls.open(r,{step:void 0,wait:void 0,releases:e,start:s(()=>{},"start")});return this.#e.opened(o),o.result.promise}refuseAll(e){this.#e.refuse(e)}restart(e){let n=this.#m("restart","");if(n!==void 0)return n;let r=this.#a("restart");if(r!==void 0)return r;let o=this.#e.calls.anyUndoable();return o!==void 0?this.#c(`ctx.restart was called after step "${o}", which has an undo: nobody could undo it after a restart. Do what is to be undone in a child, and restart around that`):(this.#e.decide({kind:"restarted",input:e}),It().promise)}#o(e,n){let r=Nt()?.step===void 0?this.#a(e):void 0;if(r!==void 0)return r;let o=this.#s(e,e,n),i=!0,a=s(()=>{i=!1},"close");return o.then(a,a),ph(o,s(l=>{let c=`${l} over a durable wait: a replay has to find the same winner. Write ctx.first({ name: wait, \u2026 })`;this.#c(c)},"onRace"),s(()=>{let l=ps();if(l===void 0||!i||this.#e.hasEnded())return;let c=`ctx.${hd[e]} of before is awaited inside reservation "${l.name}": a run that waits holds nothing, so it would never end. Await it before ctx.reserve, or after that`;this.#c(c)},"onAwait"))}#s(e,n,r){let o=this.#i(e,String(n));if(o!==void 0)return o;let i=r();if(typeof i=="string")return this.#c(i);let a=this.#l(Kr(),`${e} "${i.name}"`);if(a!==void 0)return a;if(Sh(Kr(),i.name))return this.#c(Ah(i.name));let d=this.#e.calls.next(this.#e.epoch,Kr(),e,i.name);if(d===void 0)return this.#f(N("duplicate_call",gd("call",i.name)));let u=this.#e.calls.open(d,"step"in i?{step:i.step,wait:void 0,start:s(()=>this.#e.start(u,i.run),"start")}:{step:void 0,wait:i.wait,start:s(()=>this.#d(u,i.wait),"start")});return this.#e.opened(u),u.result.promise}#d(e,{child:n}){n!==void 0&&this.#e.startChild(e,n)}#i(e,n){return this.#m(e,n)??(this.#e.hasEnded()?this.#u():void 0)}#u(){return this.#e.askedLate(),It().promise}#m(e,n){let r=Nt()?.step;if(r===void 0)return;let i=`${e==="step"?`ctx.step("${n.slice(0,200)}")`:`ctx.${hd[e]}`} was called inside step "${r}": call it in the workflow itself`;return this.#e.refuse(N("invalid_call",i,r)),Promise.reject(new Error(i))}#a(e){let n=ps();if(n===void 0||this.#e.hasEnded())return;let o=`${`ctx.${hd[e]}`} was called inside reservation "${n.name}": a run that waits holds nothing. Let the function of ctx.reserve return first, and call it after that`;return this.#c(o)}#l(e,n){let r=this.#e.bodies.endedAround(e);if(r===void 0)return;let o=`${n} was called after the function of reservation "${r}" had returned: await it inside`;return this.#c(o)}#c(e){return this.#f(N("invalid_call",e))}#f(e){return this.#e.refuse(e),It().promise}};function Kr(){return Nt()?.scope??""}s(Kr,"scopeHere");var Rh=2e3;function Sh(t,e){return Buffer.byteLength(t)+Buffer.byteLength(e)>Rh}s(Sh,"isTooLong");function Ah(t){return`call "${t.slice(0,60)}": its name and the names of the maps and reservations around it are more than ${Rh} bytes long: give them shorter ones`}s(Ah,"tooLong");function ps(){return Nt()?.held}s(ps,"heldHere");function gd(t,e){return`a ${t} "${e}" is open already: give ${t}s that run at the same time names of their own, or call them in the items of a ctx.map`}s(gd,"alreadyOpen");var hd={child:"child",transaction:"transaction",consent:"consent",delegate:"delegate",sleep:"sleep",signal:"waitForSignal",restart:"restart",reserve:"reserve",map:"map"};var hs=class{static{s(this,"Calls")}#e=new Map;#t=new Map;#n=new Map;#r=new Set;#o=new Map;asked(){return this.#r.size}closed(){return this.#r.size-this.#n.size}wasAsked(e){return this.#r.has(G(e))}next(e,n,r,o){let i=_d({epoch:e,scope:n,name:o});if(this.#t.has(i))return;let a=G({epoch:e,scope:n,kind:r,name:o,nth:0}),d=(this.#e.get(a)??0)+1;return this.#e.set(a,d),{epoch:e,scope:n,kind:r,name:o,nth:d}}open(e,n){let r={id:e,key:G(e),result:It(),...n};this.#n.set(r.key,r),this.#r.add(r.key),this.#t.set(_d(e),r.key);let{step:o}=r;return o?.undo!==void 0&&this.#o.set(r.key,{id:e,step:o}),r}undoable(e){return this.#o.get(e)}anyUndoable(){return this.#o.values().next().value?.id.name}find(e){return this.openByKey(G(e))}openByKey(e){return this.#n.get(e)}close(e){this.#n.delete(e.key),this.#t.delete(_d(e.id))}openCalls(){return[...this.#n.values()]}};function _d(t){return JSON.stringify([t.epoch,t.scope,t.name])}s(_d,"placeOf");var hO=new Set(["select","insert","update","delete","merge","with","values","table","truncate","lock","call","do","savepoint","release","explain","show","notify"]),_O=new Set(["statement_timeout","lock_timeout","transaction_timeout","idle_in_transaction_session_timeout","datestyle","session","role"]),yO=/\binto\s+(?:(?:local|global)\s+)?temp(?:orary)?\b|\bpg_temp\b/i,wO=new Set(["begin","start","commit","end","abort","rollback","prepare"]),bO="Let through are SELECT, INSERT, UPDATE, DELETE, MERGE, WITH, VALUES, TABLE, TRUNCATE, LOCK, CALL, DO, EXPLAIN, SHOW, NOTIFY, SAVEPOINT, RELEASE, ROLLBACK TO, SET LOCAL and SET CONSTRAINTS";function $h(t){if(typeof t!="string")return"a statement is a text, with its values beside it: tx.query(text, values)";let[e,...n]=kO(t,4);if(e===void 0)return"there is no statement in it";if(yO.test(t))return"a temporary table outlives the transaction, on a connection that others get: use a table, or WITH";if(hO.has(e))return;let[r,o]=n;if(e==="set")return r==="local"&&_O.has(o??"")?`SET LOCAL ${o} is not let through: what the engine does in the transaction relies on it`:r==="local"||r==="constraints"?void 0:"SET would outlive the transaction, on a connection that others get: write SET LOCAL";if(!(e==="rollback"&&(r==="work"||r==="transaction"?o:r)==="to"))return wO.has(e)?`${e.toUpperCase()} would begin, end or leave the transaction, which ctx.transaction does itself: return from the function to commit, throw to roll back, and use SAVEPOINT and ROLLBACK TO for a part of it`:`${e.slice(0,40).toUpperCase()} is not let through inside of ctx.transaction. ${bO}; for others use a step with a connection of its own`}s($h,"whyNotSent");function kO(t,e){let n=[],r=0;for(;n.length<e;){if(r=xO(t,r),n.length===0&&t[r]==="("){r+=1;continue}let o=/^[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/i.exec(t.slice(r,r+64))?.[0];if(o===void 0)break;n.push(o.toLowerCase()),r+=o.length}return n}s(kO,"wordsOf");function xO(t,e){let n=e;for(;;)if(/\s/.test(t[n]??""))n+=1;else if(t.startsWith("--",n)){let r=/[\n\r]/.exec(t.slice(n));if(r===null)return t.length;n+=r.index+1}else if(t.startsWith("/*",n))n=EO(t,n);else return n}s(xO,"afterSpace");function EO(t,e){let n=0,r=e;do{let o=t.startsWith("/*",r)?1:t.startsWith("*/",r)?-1:0;n+=o,r+=o===0?1:2}while(n>0&&r<t.length);return r}s(EO,"afterComment");var _s=1e3,vO=250,ys=class{static{s(this,"HandedOut")}#e;#t;#n;#r=Promise.withResolvers();#o;#s;#d;#i=Promise.resolve();#u;constructor(e){this.#e=e,this.#t=e.nowMs(),this.#u=e.limitMs,this.#r.promise.catch(()=>{}),this.#n=setTimeout(()=>this.stop(this.#f()),e.limitMs)}context({idempotencyKey:e,signal:n,log:r}){return{idempotencyKey:e,signal:n,log:r,query:s((o,i)=>this.#m(o,i),"query")}}get stoppedBy(){return this.#s===void 0?void 0:this.#o}get failure(){return this.#d}stop(e){this.#s===void 0&&(this.#o=e,this.#r.reject(e),this.#s=this.#e.begun.rollback(_s))}async close(){let{name:e}=this.#e;this.#o??=new Error(`transaction "${e}" is over, because its function has ended: await what it sends inside of it`),await Promise.race([this.#i,this.#r.promise.catch(()=>{})]),this.#s!==void 0&&await this.#s}settle(){return clearTimeout(this.#n),this.#s===void 0?Math.max(1,this.#c()):0}async rollBack(){clearTimeout(this.#n),await(this.#s??this.#e.begun.rollback(_s))}#m(e,n=[]){if(this.#o!==void 0)return Promise.reject(this.#o);let r=$h(e);if(r!==void 0)return Promise.reject(new Ye(`transaction "${this.#e.name}": ${r}`));let o=this.#i.then(()=>this.#a(e,n));return this.#i=o.catch(()=>{}),Promise.race([o,this.#r.promise])}async#a(e,n){let{ledger:r,begun:o}=this.#e;try{if(this.#s!==void 0)throw this.#o;await this.#l();let{rows:i,rowCount:a}=await r.transactions.ask(o,e,n);return this.#d=void 0,{rows:i,rowCount:a}}catch(i){let a=i instanceof W?i.cause??i:i;throw this.#d??={error:a},a}}async#l(){let e=this.#c();this.#u-e<=vO||(await this.#e.ledger.transactions.limit(this.#e.begun,e),this.#u=e)}#c(){return this.#t+this.#e.limitMs-this.#e.nowMs()}#f(){let{name:e,limitMs:n}=this.#e;return new DOMException(`transaction "${e}" did not end within ${n} ms, and was rolled back`,"TimeoutError")}};function ws(t){let e=Xe(t);return e==="40001"||e==="40P01"}s(ws,"isInTheWay");function bs(t){let e=Xe(t);return e!==void 0?/^(?:57P|08)/.test(e)||e==="25P03":!(t instanceof TypeError||t instanceof RangeError)}s(bs,"isConnectionLost");var Kn=s(t=>({kind:"stops",end:t}),"stops");async function Oh(t,e,n){let{call:r,claim:o,tx:i,begun:a,value:d,tries:u,tookMs:l}=t,c=await e.prepare(r,{outcome:"ok",value:d,tries:u},l),m=i.settle();try{if(m===0)return{kind:"failed",failure:T(i.stoppedBy??new Error("it was rolled back"))};if("end"in c)return Kn(c.end);let{entry:f,text:p}=c,h=await n.ledger.transactions.commitIfClaimed(a,o,f,m);return h.kind==="unknown"?await SO(t,f,e,n):h.kind!=="committed"?IO(r,h,i):(await e.keep(f,h),{kind:"kept",text:p,tries:u,completedAt:h.completedAt})}catch(f){return Kn({kind:"unknown",error:f})}finally{await i.rollBack()}}s(Oh,"commitTransaction");function IO(t,e,n){if(e.kind==="fenced")return Kn({kind:"fenced"});if(e.kind==="left"){let a=`transaction "${t.name}" was ended by one of its own statements: what it did before may be committed, without an entry in the journal. Let ctx.transaction begin and end it`;return Kn(N("invalid_call",a,t.name))}let{at:r,error:o}=e;if(o.sqlState==="25P02"||/answered ROLLBACK/.test(o.message)){let a=n.failure?.error,d={...T(a??o),message:`a statement failed, and the function returned all the same: nothing can be committed after it, so all was rolled back. Roll back to a SAVEPOINT to go on after a failure (it was: ${T(a).message.slice(0,500)})`};return{kind:ws(a)||a!==void 0&&bs(a)?"again":"failed",failure:d}}let i=T(o.cause??o);return o.kind!=="defect"&&o.kind!=="schema"?{kind:"again",failure:i}:r==="commit"||o.sqlState==="42501"?{kind:"failed",failure:i}:Kn({kind:"unknown",error:o})}s(IO,"withoutEntry");async function SO(t,e,n,r){let{call:o,claim:i}=t,a=await n.insist(()=>r.ledger.transactions.readBack(i,o));if(a===null)return{kind:"again",failure:{name:"Error",message:"the connection was lost at COMMIT, and nothing was committed"}};if(a.token!==i.token)return Kn({kind:"fenced"});let d=await AO(a,i,r);return await n.keep(e,a),{kind:"kept",text:d,tries:a.tries,completedAt:a.completedAt}}s(SO,"readBack");async function AO({resultText:t,resultDigest:e,ordinal:n},{tenantId:r,runId:o},{codec:i}){if(t!==null)return Ce(t,e,`journal entry ${n}`,a=>i.decode(a,{tenantId:r,runId:o,kind:"result"}))}s(AO,"textOf");var RO=5,$O=20;function Ch(t,e){let n={"ghouls.run_id":t.claim.runId,"ghouls.step":t.call.name};return et("ghouls.transaction",{attributes:n},async r=>{let o=await OO(t,e);return r.setAttribute("ghouls.outcome",o.outcome),o})}s(Ch,"runTransaction");async function OO(t,e){let{options:n,hopSignal:r,log:o,call:i}=t;try{for(let a=1;;a+=1){let d=await CO(t,a,e);if(d.outcome==="abandoned")return{outcome:"abandoned",tries:a};if(d.outcome!=="failed")return d;let{failure:u}=d;if(d.final||a>=n.tries)return{outcome:"error",failure:u,tries:a};if(o.warn("a try of a transaction failed",{step:i.name,try:a,error:Te(u.name)}),await Fn(bt(n.backoff,a+1,e.chance()),r),r.aborted)return{outcome:"abandoned",tries:a}}}catch(a){return{outcome:"stops",end:{kind:"unknown",error:a}}}}s(OO,"transacted");async function CO(t,e,n){let{hopSignal:r,log:o,call:i}=t;for(let a=1;;a+=1){let d=await DO(t,e,n);if(d.outcome!=="again")return d;if(r.aborted)return{outcome:"abandoned"};if(a>=RO)return{outcome:"failed",failure:d.failure,final:!1};if(o.info("a transaction was rolled back and is tried again",{step:i.name,error:Te(d.failure.name)}),await Fn($O*2**a*(.5+n.chance()),r),r.aborted)return{outcome:"abandoned"}}}s(CO,"oneTry");async function DO(t,e,n){let{call:r,claim:o,options:i,hopSignal:a}=t,d=await PO(t,n);if("outcome"in d)return d;let u=n.settings.leaseHeld?sn:i.timeoutMs,{ledger:l,clock:c,faults:m}=n,f=new ys({name:r.name,ledger:l,begun:d,limitMs:u,nowMs:s(()=>c.monotonicMs(),"nowMs")}),p=s(()=>f.stop(new Error(`transaction "${r.name}": its run does not go on here`)),"stop");a.addEventListener("abort",p,{once:!0}),a.aborted&&p();try{let h=s(A=>t.run(f.context(A)),"run"),b=await Pt({name:r.name,idempotencyKey:_t(o.firstRunId,r),options:{timeoutMs:u},run:h,hopSignal:a,log:t.log,overdueAfterMs:n.settings.overdueAfterMs,onOverdue:s(()=>an(t,n),"onOverdue")},e);if(await f.close(),await m("worker.after-transaction",r.name),f.stoppedBy!==void 0)return a.aborted?{outcome:"abandoned"}:NO(f.stoppedBy);if(b.outcome==="error")return qO(b.thrown,b.failure,f);let E=await t.commit({call:r,claim:o,begun:d,tx:f,value:b.value,tries:e});return E.kind==="failed"&&a.aborted?{outcome:"abandoned"}:TO(E)}finally{a.removeEventListener("abort",p),await f.rollBack()}}s(DO,"oneCall");async function PO(t,e){let{call:n,claim:r,options:o,invocation:i,hopSignal:a,log:d}=t,{settings:u,ledger:l}=e,c=s(()=>zr(n.name,o.timeoutMs,r,e,i),"notNow"),m=s(p=>({outcome:"stops",end:p}),"stops"),f=s(()=>i.remainingMs()-u.settleReserveMs-o.timeoutMs,"turnMs");await e.faults("worker.before-transaction",n.name);try{let p=await we(async()=>a.aborted||c()!==void 0?null:l.transactions.begin(u.leaseHeld?sn:o.timeoutMs,Math.max(0,Math.min(sn,f()))),{chance:e.chance,mayGoOn:s(()=>!a.aborted&&c()===void 0,"mayGoOn"),onPause:s(h=>d.warn("the ledger is out of reach; a transaction waits",{kind:h.kind}),"onPause")});if(p!==null&&!a.aborted&&c()===void 0)return p;await p?.rollback(_s)}catch(p){if(!(p instanceof W)||c()===void 0)throw p}return a.aborted?{outcome:"abandoned"}:m(c()??{kind:"yielded",why:"time"})}s(PO,"begin");function NO(t){return{outcome:"failed",failure:T(t),final:!1}}s(NO,"late");function qO(t,e,{failure:n}){return id(t)?{outcome:"failed",failure:e,final:!0}:n!==void 0&&(ws(n.error)||bs(n.error))?{outcome:"again",failure:e}:{outcome:"failed",failure:e,final:!1}}s(qO,"failureOf");function TO(t){switch(t.kind){case"kept":return{outcome:"kept"};case"stops":return{outcome:"stops",end:t.end};case"again":return{outcome:"again",failure:t.failure};case"failed":return{outcome:"failed",failure:t.failure,final:!1}}}s(TO,"ofSealed");var ks=class{static{s(this,"InFlight")}#e;#t;#n=[];#r=0;constructor(e,n){this.#e=e,this.#t=n}start(e,n){let{claim:r,deps:o,invocation:i,nextTries:a}=this.#t,d=e.step;if(d===void 0)return;let u=a.before(e);if(u===void 0)return;let l=zr(e.id.name,d.timeoutMs,r,o,i);if(l!==void 0)return l;e.wait=void 0;let c=o.clock.monotonicMs(),m={hop:this.#e,scope:e.id.scope,step:e.id.name,held:void 0};this.track(e,Ve(m,()=>e.id.kind==="transaction"?this.#s(e,d,n,c):this.#o(e,d,n,u)))}track(e,n){let{deps:r,ended:o}=this.#t;this.#r+=1;let i=r.clock.monotonicMs();n.then(a=>{this.#r-=1,this.#n.push({call:e,end:a,tookMs:r.clock.monotonicMs()-i}),o()})}#o(e,n,r,o){let{claim:i,deps:a,invocation:d,effects:u,hopSignal:l,handsOver:c}=this.#t,m=a.logFor(i),f={call:e.id,claim:i,options:n,hopSignal:l,log:m,effects:u,triesBefore:o,invocation:d,handsOver:c};return Lg({...f,run:r},a)}#s(e,n,r,o){let{claim:i,deps:a,invocation:d,hopSignal:u,ended:l}=this.#t;return Ch({call:e.id,claim:i,run:r,options:n,hopSignal:u,log:a.logFor(i),invocation:d,commit:s(c=>new Promise(m=>{let f=a.clock.monotonicMs()-o,p=s(async h=>{let b=h===void 0?{kind:"stops",end:{kind:"fenced"}}:await Oh({...c,tookMs:f},h,a);return m(b),b},"commit");this.#n.push({call:e,end:{outcome:"commits",commit:p},tookMs:f}),l()}),"commit")},a)}takeFinished(){return this.#n.shift()}hasFinished(){return this.#n.length>0}isEmpty(){return this.#r===0&&!this.hasFinished()}};var Nh=65536,LO=2e3,MO=8*1048576,Dh=100,Ph=1048576,jO=5e3,zO=1e3,Es=class{static{s(this,"StepCopies")}#e;#t;#n=[];#r=0;#o;#s;#d=0;#i=new Map;#u=new Map;constructor(e){this.#e=e,this.#t=e.bounds??{copies:LO,bytes:MO}}add(e){let n=xs(e);if(this.#n.length>=this.#t.copies||this.#r+n>this.#t.bytes)return this.#g(e,"too many wait to be written");this.#n.push(e),this.#r+=n,this.#p(this.#i,e,1),this.#n.length>=Dh||this.#r>=Ph?this.#l():this.#m(e.number===void 0?jO:zO)}#m(e){this.#s!==void 0&&this.#d<=e||(clearTimeout(this.#s),this.#s=setTimeout(()=>{this.#l()},e),this.#d=e)}async drain({runId:e},n,r){await ce(s(async()=>{for(;(this.#i.get(e)??0)>0;)await this.#l()},"drained")(),n)||this.#a(e);let i=this.#u.get(e);this.#u.delete(e),this.#i.delete(e),i!==void 0&&r.warn("copies of steps were lost: the journal has what they are of",{count:i.copies,error:i.why})}#a(e){let[n,r]=[this.#n.filter(({claim:u})=>u.runId===e),this.#n.filter(({claim:u})=>u.runId!==e)];this.#n=r,this.#r=r.reduce((u,l)=>u+xs(l),0);let[o]=n,i=this.#i.get(e)??0;this.#i.delete(e);let a=this.#u.get(e),d=a?.why??(o===void 0?"no answer in time":"they were not written in time");this.#u.set(e,{copies:(a?.copies??0)+i,why:d})}#l(){return clearTimeout(this.#s),this.#s=void 0,this.#o??=this.#c().finally(()=>{this.#o=void 0}),this.#o}async#c(){for(;this.#n.length>0;){let e=this.#f();try{await this.#e.ledger.evidence.copySteps(e);for(let n of e)this.#p(this.#i,n,-1)}catch(n){let r=v(n);for(let o of e)this.#i.has(o.claim.runId)&&this.#g(o,r),this.#p(this.#i,o,-1)}}}#f(){let[e,n]=[0,0];for(let r of this.#n){if(e>=Dh||e>0&&n+xs(r)>Ph)break;e+=1,n+=xs(r)}return this.#r-=n,this.#n.splice(0,e)}#g({claim:{runId:e}},n){let r=this.#u.get(e);this.#u.set(e,{copies:(r?.copies??0)+1,why:r?.why??n})}#p(e,{claim:{runId:n}},r){let o=e.get(n);o===void 0&&r<0||e.set(n,(o??0)+r)}};function xs({bodyText:t}){return 200+(t===null?0:Buffer.byteLength(t))}s(xs,"bytesOf");var vs=class{static{s(this,"JournalWriter")}#e;#t;#n;#r;#o;constructor(e,n,r,o){this.#r=o,this.#e=e,this.#t=r,this.#o=e.journalBytes,this.#n=[...n]}entries(){return this.#n}adopt(e,n,r,o){let i=o===null?0:Buffer.byteLength(o);this.#o+=i,this.#n.push({...e,ordinal:n.ordinal,outcome:"ok",digest:r});let a={outcome:"ok",resultText:o,resultDigest:r,resultBytes:i};this.#i(e,{...a,tries:1,tookMs:0},n)}async reject(e,n){try{let{tenantId:r,runId:o}=this.#e,i=de(n.outcome==="ok"?n.value:n.failure),a=i===void 0?null:await this.#t.codec.encode(i,{tenantId:r,runId:o,kind:"result"});await this.#t.ledger.evidence.reject(this.#e,{call:G(e),outcome:n.outcome,bodyText:a,bodyDigest:a===null?null:q(a)}),await this.#s(e,n);return}catch(r){return r}}async#s(e,n){if(n.outcome!=="ok"||n.closesIntent!==!0)return;let{epoch:r,scope:o,kind:i,name:a,nth:d}=e,u=`[${[r,o,i,a,d].map(m=>JSON.stringify(m)).join(", ")}]`,{token:l}=this.#e;await this.#t.ledger.items.acknowledge(this.#e,{kind:"effect",key:u,by:"worker",words:"it has happened, says the worker that made the call",token:l,effect:"happened"})}async write(e,n,r){let o=await this.prepare(e,n,r);if("end"in o)return{written:!1,end:o.end};try{let i=await this.insist(()=>this.#t.ledger.journal.appendIfClaimed(this.#e,o.entry));return i===null?{written:!1,end:{kind:"fenced"}}:(await this.keep(o.entry,i),{written:!0,text:o.text,completedAt:i.completedAt})}catch(i){return{written:!1,end:{kind:"unknown",error:i}}}}async prepare(e,n,r){try{return await this.#d(e,n,r)}catch(o){if(!(o instanceof se))return{end:{kind:"unknown",error:o}};let i=`the result of ${e.kind} "${e.name}": ${o.message}`;return{end:N(o.reason,i,e.name)}}}async#d(e,n,r){let{tenantId:o,runId:i}=this.#e,a=de(n.outcome==="ok"?n.value:n.failure),d=a===void 0?null:await this.#t.codec.encode(a,{tenantId:o,runId:i,kind:"result"}),u=d===null?0:Buffer.byteLength(d);if(this.#o+u>wt)throw new se("too_large",`it would bring the run's journal above ${wt} bytes`);return{entry:{...e,outcome:n.outcome,resultText:d,resultDigest:d===null?null:q(d),resultBytes:u,tries:n.tries,tookMs:r,closesIntent:n.outcome==="ok"&&n.closesIntent===!0},text:a}}insist(e){return we(e,this.#r)}async keep(e,n){let{epoch:r,scope:o,kind:i,name:a,nth:d,outcome:u,resultDigest:l}=e,{ordinal:c}=n;this.#o+=e.resultBytes,this.#n.push({epoch:r,scope:o,kind:i,name:a,nth:d,ordinal:c,outcome:u,digest:l}),this.#i({epoch:r,scope:o,kind:i,name:a,nth:d},e,n),await this.#t.faults("worker.after-journal",a)}#i(e,n,{ordinal:r,completedAt:o}){let{outcome:i,tries:a}=n,d=new Date(o.getTime()-n.tookMs),{seq:u}=this.#e;os(this.#e,{...e,seq:u,ordinal:r,outcome:i,tries:a,startedAt:d,completedAt:o},this.#t.live),this.#t.copies?.add({claim:this.#e,ordinal:r,call:G(e),outcome:i,tries:a,startedAt:d,completedAt:o,bodyText:n.resultBytes>Nh?null:n.resultText,bodyDigest:n.resultDigest})}};async function qh({call:t,end:e,tookMs:n},r){let{word:o,writer:i,nextTries:a,log:d}=r;if(e.outcome==="stops")return o.say(e.end);if(e.outcome==="abandoned"||e.outcome==="kept"||e.outcome==="stands")return;if(e.outcome==="commits")return FO(t,e,r);if(e.outcome==="asks"||e.outcome==="releases")return r.turn(t,e);if(e.outcome==="later")return a.again(t,new Date(r.ledgerNowMs()+e.delayMs),e.tries);if(!o.mayWrite)return GO(t,e,r);let u=await i.write(t.id,e,n);if(!u.written)return u.end.kind==="fenced"&&await i.reject(t.id,e),o.say(u.end);e.outcome==="error"&&o.end?.kind==="returned"&&d.warn("a step failed that the workflow did not wait for",{step:t.id.name});let{outcome:l,tries:c}=e;r.resolve(t,{outcome:l,text:u.text??null,tries:c,completedAt:u.completedAt}),await ft()}s(qh,"keep");async function FO(t,{commit:e},n){let r=await e(n.word.mayWrite?n.writer:void 0);if(r.kind==="stops")return n.word.say(r.end);if(r.kind!=="kept")return;let{text:o,tries:i,completedAt:a}=r;n.resolve(t,{outcome:"ok",text:o??null,tries:i,completedAt:a}),await ft()}s(FO,"commit");async function GO(t,e,{writer:n,log:r}){let o=await n.reject(t.id,e),i=o===void 0?void 0:T(o).message.slice(0,200),a=t.id.name;r.warn("a step ended after its claim was gone; its result is rejected evidence",{step:a,error:i})}s(GO,"reject");var Is=class{static{s(this,"LastWord")}#e=new AbortController;#t;#n;#r=!0;#o=!1;constructor(e){this.#t=e}get signal(){return this.#e.signal}get end(){return this.#n}get handsOver(){return this.#n!==void 0&&on(this.#n)}get mayWrite(){return this.#r}get refused(){return this.#o}say(e){(this.#n===void 0||Cg(e,this.#n))&&(this.#n=e),(e.kind==="fenced"||e.kind==="unknown")&&(this.#r=!1,this.#t.fenced()),e.kind!=="returned"&&!on(e)&&this.abort("the run does not go on here"),this.#t.said()}refuse(e){this.#o=!0,this.say(e)}insist(e){this.#n=e}abort(e){this.#e.abort(new DOMException(e,"AbortError"))}};var Ss=class{static{s(this,"Bodies")}#e=new Map;#t=new Map;resolved(e,n,r){let{reserve:o,releases:i}=e;i!==void 0&&(this.#e.delete(e.id.scope),this.#t.set(e.id.scope,e.id.name));let a=n??{};if(o===void 0||a.outcome!=="RESERVED")return;let d=r?"held":"to retake";this.#e.set(o.scope,{call:e,reserve:o,had:a,state:d,heldBack:[]})}open(){return[...this.#e.values()]}of(e){return this.#e.get(e)}around(e){return this.#e.size===0?[]:As(e).flatMap(n=>this.#e.get(n)??[])}endedAround(e){let n=this.around(e).find(({state:o})=>o==="ended");if(n!==void 0)return n.call.id.name;if(this.#t.size===0)return;let r=As(e).find(o=>this.#t.has(o));return r===void 0?void 0:this.#t.get(r)}mismatch(){for(let{call:e,reserve:n,had:r}of this.#e.values()){if(r.capacity===n.capacity&&r.units===n.units)continue;let o=e.id.name;return N("journal_mismatch",`reserve "${o}" had ${String(r.units)} of "${String(r.capacity)}", and the code asks for ${n.units} of "${n.capacity}" now: its function is not over`,o)}}};function As(t){let e=t.split("/");return e.map((n,r)=>e.slice(0,r+1).join("/"))}s(As,"pathTo");function Th(t,e){return t===e||t.startsWith(`${e}/`)}s(Th,"isWithin");var yd=2**31-1,Lh=jh({outcome:"UNAVAILABLE"}),Rs=class{static{s(this,"Reservations")}#e;#t=new Map;#n=new Map;#r=!1;#o=!1;constructor(e){this.#e=e}hasWaited(){return this.#o}start(e){this.#e.word.end===void 0&&this.#i(e,!1)}goLive(){if(this.#e.word.end===void 0)for(let e of this.#e.bodies.open())e.state==="to retake"&&this.#d(e)}begin(e){e.releases===void 0&&!this.#s(e)&&e.start()}#s(e){let{bodies:n,effects:r,word:o}=this.#e,i=n.around(e.id.scope).find(({state:a})=>a!=="held");return i===void 0||o.end?.kind==="restarted"&&r.of(e.id).openIntent!==void 0?!1:(i.heldBack.push(e),i.state==="to retake"&&this.#d(i),!0)}startReleases(){let{bodies:e,inFlight:n,openCalls:r,word:o}=this.#e;if(o.end!==void 0||e.open().length===0)return;let i=r(),a=UO(i);for(let d of i){let u=d.releases===void 0?void 0:e.of(d.id.scope);u===void 0||u.state==="ended"||u.state==="retaking"||(a.get(d.id.scope)??0)>1||(u.state="ended",n.track(d,Promise.resolve({outcome:"releases"})))}}stop(){this.#r=!0;for(let{wake:o}of this.#t.values())o();let{bodies:e,effects:n,word:r}=this.#e;if(r.end?.kind==="restarted")for(let{heldBack:o}of e.open()){let i=o.filter(({id:a})=>n.of(a).openIntent!==void 0);for(let a of i)o.splice(o.indexOf(a),1),a.start()}}async turn(e,{outcome:n}){try{await(n==="releases"?this.#h(e):this.#u(e))}catch(r){this.#e.word.say({kind:"unknown",error:r})}}yieldsInTime(e){let{bodies:n,deps:r,inFlight:o,invocation:i,word:a}=this.#e;if(a.end!==void 0||n.open().length===0||!o.isEmpty())return;let{residentReserveMs:d,settleReserveMs:u}=r.settings,l=e.map(({wait:f})=>f?.dueAt?.getTime()??0);if(l.length>0&&d===0){let f=new Date(Math.min(...l));return setTimeout(()=>a.say({kind:"given_back",dueAt:f,why:"its next try is due later"}))}let c=Math.max(0,i.remainingMs()-u),m=l.length>0?"units":"time";return setTimeout(()=>a.say({kind:"yielded",why:m}),Math.min(c,yd))}#d(e){if(this.#e.bodies.around(e.call.id.scope).some(({state:o})=>o!=="held"))return;let n=this.#e.openCalls().filter(({id:o})=>Th(o.scope,e.reserve.scope)),r=s(({id:o,releases:i})=>i!==void 0&&o.scope===e.reserve.scope,"isItsEnd");n.length>0&&n.every(r)||(e.state="retaking",this.#i(e.call,!0))}#i(e,n){let{deps:r,inFlight:o}=this.#e,i=r.clock.monotonicMs();this.#t.set(e.key,{reservationId:r.ids.next(),sinceMs:i,retake:n,askedAtMs:0,waits:!1,line:void 0,wake:s(()=>{},"wake")}),o.track(e,Promise.resolve({outcome:"asks"}))}async#u(e){let{deps:n,persistence:r,word:o}=this.#e,{reserve:i,id:a}=e,d=this.#t.get(e.key);if(i===void 0||d===void 0)return;if(o.end!==void 0)return this.#p(d);await n.faults("worker.before-reserve",a.name);let{capacity:u,units:l,inside:c}=i,m=jh({outcome:"RESERVED",capacity:u,units:l}),{reservationId:f,retake:p}=d,h={reservationId:f,call:a,capacity:u,units:l,inside:c,retake:p,reserved:m,unavailable:Lh},b=await we(()=>this.#m({...h,waitSeconds:i.waitMs/1e3}),r);if(await n.faults("worker.after-reserve",a.name),b===null)return o.say({kind:"fenced"});if(b.kind==="waits")return this.#l(e,i,d,b);if(this.#t.delete(e.key),Mh(d),b.kind==="unknown_capacity")throw new TypeError(`the ledger has no capacity "${u}"`);let E=b.kind==="held"?m:Lh;if(b.entry===null)return this.#a(e);this.#e.writer.adopt(a,b.entry,E.digest,E.text),await this.#e.resolve(e,E.text,b.entry.completedAt)}async#m(e){let{ledger:n,capacities:r}=this.#e.deps,o=await n.reservations.takeIfClaimed(this.#e.claim,e);return o?.kind!=="unknown_capacity"?o:(await n.capacities.add(r),n.reservations.takeIfClaimed(this.#e.claim,e))}#a(e){let n=this.#e.bodies.of(e.reserve?.scope??"");if(n!==void 0){n.state="held",this.goLive();for(let r of n.heldBack.splice(0))this.begin(r)}}async#l(e,n,r,o){let{claim:i,deps:a,invocation:d,inFlight:u,bodies:l,word:c}=this.#e,{reservePollMs:m,residentReserveMs:f,settleReserveMs:p}=a.settings,{capacity:h,waitMs:b}=n;this.#o=!0,r.waits=!0,r.askedAtMs=o.askedAt.getTime();let E=this.#c(e,n,o);if(E!==void 0&&!r.retake)return c.refuse(N("invalid_call",E)),this.#p(r);let A=s(me=>{let ge=new Date($e(i,a,d)+me);return c.say({kind:"given_back",dueAt:ge,why:`it waits for units of ${h}`}),this.#p(r)},"givenBack"),F=b-o.waitedSeconds*1e3;if(r.retake&&F<=0&&(await Fr(i,ie("reservation_waits",h),a.logFor(i),a),u.isEmpty()&&l.open().every(({state:ge})=>ge!=="held")))return A(Et);if(a.clock.monotonicMs()-r.sinceMs>=f)return A(m);n.inside+n.units>o.allUnits?Mh(r):r.line===void 0&&this.#f(e,h,r);let M=r.line===void 0||r.line[0]===r,j=m*(.75+a.chance()/2),H=M?j:F>0?F:yd;if(M&&d.remainingMs()-H<=p)return c.say({kind:"yielded",why:"units"}),this.#p(r);u.track(e,this.#g(r,H))}#c(e,n,{allUnits:r}){let o=this.#e.deps.capacities[n.capacity]??0;return kh(e.id.name,n,Math.max(r,o),n.inside)}#f(e,n,r){let o=this.#e.bodies.around(e.id.scope).at(-1)?.reserve.scope??"",i=JSON.stringify([n,o]),a=this.#n.get(i)??[];this.#n.set(i,a);let d=a.findIndex(({askedAtMs:u})=>u>r.askedAtMs);a.splice(d===-1?a.length:d,0,r),r.line=a}#g(e,n){return new Promise(r=>{let o=s(()=>{clearTimeout(i),e.wake=()=>{},r({outcome:"asks"})},"go"),i=setTimeout(o,Math.min(n,yd));e.wake=o,this.#r&&o()})}async#p(e){let{claim:n,deps:r,persistence:o,word:i}=this.#e;if(!e.waits||!i.mayWrite)return;for(let d of this.#t.values())d.waits=!1;await we(()=>r.ledger.reservations.withdrawIfClaimed(n),o)||i.say({kind:"fenced"})}async#h(e){let{claim:n,deps:r,persistence:o,writer:i,resolve:a,word:d}=this.#e;if(e.releases===void 0||d.end!==void 0)return;let u=e.releases;await r.faults("worker.before-release",e.id.name);let l=await we(()=>r.ledger.reservations.releaseIfClaimed(n,u,e.id),o);if(await r.faults("worker.after-release",e.id.name),l===null)return d.say({kind:"fenced"});i.adopt(e.id,l,null,null),await a(e,null,l.completedAt)}};function jh(t){let e=de(t)??"";return{text:e,digest:q(e)}}s(jh,"stored");function Mh(t){let{line:e}=t;e!==void 0&&(e.splice(e.indexOf(t),1),t.line=void 0,e[0]?.wake())}s(Mh,"leave");function UO(t){let e=new Map;for(let{id:n}of t)for(let r of As(n.scope))e.set(r,(e.get(r)??0)+1);return e}s(UO,"countWithin");var $s=class{static{s(this,"NextTries")}#e;#t;#n;#r=new Map;#o=new Set;#s=!1;constructor(e,n,r){this.#e=e,this.#t=n,this.#n=r}before(e){let n=this.#r.get(e.key);if(n!==void 0)return n;let{triesBefore:r,dueAt:o}=this.#e.of(e.id);if(o===null||o.getTime()<=this.#t())return r;this.#d(e,o,r)}again(e,n,r){this.#s=!0,this.#d(e,n,r)}hasTried(){return this.#s}#d(e,n,r){e.wait={owner:"timer",dueAt:n,tries:r},this.#r.set(e.key,r);let o=setTimeout(()=>{this.#o.delete(o),e.start(),this.#n()},Math.min(2147483647,Math.max(0,n.getTime()-this.#t())));this.#o.add(o),this.#n()}stop(){for(let e of this.#o)clearTimeout(e)}};async function Fh(t,e){await ft();for(let n of t){if(zh(e))return;let r=await WO(n,e);if(r===void 0){let o=e.openCalls().map(i=>Fe(i.id));return zh(e)?void 0:(e.missed(n,o),N("journal_mismatch",`journal entry ${n.ordinal} is ${Fe(n)}, but the code ${o.length===0?"does not ask for it":`asks for ${o.join(", ").slice(0,1e3)}`}: the workflow's code has changed or is not deterministic`))}e.resolve(r,n),await ft()}}s(Fh,"replay");function zh(t){let e=t.end();return t.refused()||e!==void 0&&e.kind!=="returned"&&e.kind!=="failed"}s(zh,"stops");async function WO(t,e){let n=e.nowMs();for(;;){let r=e.find(t);if(r!==void 0)return r;if(e.end()!==void 0||e.nowMs()-n>e.patienceMs)return;await ft()}}s(WO,"askedFor");async function Gh(t){if(!t.still())return!1;let e=t.nowMs()+t.patienceMs,[n,r]=[t.asked(),t.nowMs()];for(;;){if(await gh(),!t.still())return!1;if(n!==t.asked()&&([n,r]=[t.asked(),t.nowMs()]),!(t.nowMs()<r+t.restMs)&&(t.nowMs()>=e||t.hasAll()&&!hh()))return!0}}s(Gh,"standsStill");var Uh=0,Os=class{static{s(this,"Streaming")}#e;#t;#n;#r;#o=!1;#s=!1;constructor(e,n,r){this.#e=e,this.#t={tenantId:e.tenantId,runId:e.runId,enqueueSeq:e.seq},this.#n=n,this.#r=r}say(e,n,r,o){if(this.#o)return;if(!Me(e))return o(N("invalid_call",je("channel of ctx.stream")));if(typeof n!="string")return o(N("invalid_call",`ctx.stream("${e}", \u2026) takes a text: write JSON.stringify(value)`));if(!r())return;if(n.length>gn||Buffer.byteLength(n)>gn)return this.#u("a chunk of ctx.stream is too large, and was dropped",{channel:e,units:n.length});Uh+=1;let i={...this.#t,number:Uh,channel:e,chunk:n};this.#i(()=>this.#n.live.write(i))}emit(e,n,r,o){if(this.#o)return;if(!Me(e))return o(N("invalid_call",je("event of ctx.emit")));let i=BO(n);if(i instanceof se)return o(N(i.reason,`what ctx.emit("${e}", \u2026) was given: ${i.message}`));if(!r())return;if(i.length>gn||Buffer.byteLength(i)>gn)return this.#u("the data of ctx.emit are too large, and the event was dropped",{name:e});let a=new Date(this.#n.clock.wallMs()),{enqueueSeq:d}=this.#t,l={kind:"emitted",at:a.toISOString(),enqueueSeq:d,name:e,data:JSON.parse(i)},c=this.#i(()=>this.#n.live.tell(this.#t,l));this.#d(e,i,a,c)}async#d(e,n,r,o){try{let{tenantId:i,runId:a}=this.#e,d=await this.#n.codec.encode(n,{tenantId:i,runId:a,kind:"event"});this.#n.copies?.add({claim:this.#e,ordinal:null,...o===void 0?{}:{number:o},call:JSON.stringify(["emit",e]),outcome:"ok",tries:1,startedAt:r,completedAt:r,bodyText:d,bodyDigest:q(d)})}catch(i){this.#u("a copy of an emitted event could not be made",{error:v(i)})}}end(){this.#o||(this.#o=!0,this.#i(()=>this.#n.live.end(this.#t)))}#i(e){try{return e()}catch(n){this.#u("the live stream does not take what a run says",{error:v(n)});return}}#u(e,n){this.#s||(this.#s=!0,this.#r.warn(e,n))}};function BO(t){try{return de(t)??"null"}catch(e){if(e instanceof se)return e;throw e}}s(BO,"textOf");function Wh(t,e,n){e.warn("the code waits for something that is no step and no wait, perhaps for ever"),Fr(t,ie("code_overdue","it waits for what is no step and no wait"),e,n)}s(Wh,"tellOfStandstill");function Bh(t,e){for(let{id:n}of t)e.warn("a step has further tries that the workflow did not wait for",{step:n.name})}s(Bh,"tellOfDropped");function Hh(t){let{runId:e,firstRunId:n,agent:r,requestedBy:o,requestedRoles:i,deadlineAt:a,journalBytes:d}=t.claim,{grants:u,resources:l}=t.held;d>wt&&t.asking.refuseAll(N("too_large",VO));let c=new wd(n,t.claim.epoch);return{runId:e,agent:r,requestedBy:o,authority:Object.freeze({subject:o,roles:Object.freeze([...i])}),grant:s(m=>KO(m,u),"grant"),resources:Object.freeze(l),deadline:a===null?void 0:new Date(a),abortSignal:t.abortSignal,log:JO(t),step:s((m,f,p)=>t.asking.step(m,f,p),"step"),transaction:s((m,f,p)=>t.asking.transaction(m,f,p),"transaction"),consent:s((m,f)=>t.asking.consent(m,f,o),"consent"),delegate:s((m,f,p,h)=>t.asking.delegate(m,f,p,h),"delegate"),child:s((m,f,p)=>t.asking.child(m,f,p),"child"),sleep:s((m,f)=>t.asking.sleep(m,f),"sleep"),waitForSignal:s((m,f)=>t.asking.signal(m,f),"waitForSignal"),map:s((m,f,p,h)=>t.asking.map(m,f,p,h),"map"),reserve:s((m,f,p)=>t.asking.reserve(m,f,p),"reserve"),first:HO,restart:s(m=>t.asking.restart(m),"restart"),now:s(()=>new Date(t.now()),"now"),stream:s((m,f)=>t.stream(m,f),"stream"),emit:s((m,f)=>t.emit(m,f),"emit"),random:s(()=>Kh("random",()=>c.here().random()),"random"),uuid:s(()=>Kh("uuid",()=>c.here().uuid()),"uuid")}}s(Hh,"workflowContext");var wd=class{static{s(this,"RandomStreams")}#e;#t;#n=new Map;constructor(e,n){this.#e=e,this.#t=n}here(){let e=Nt()?.scope??"",n=this.#n.get(e);if(n!==void 0)return n;let r=new Vn(this.#e,this.#t,e);return this.#n.set(e,r),r}};function KO(t,e){let n=Object.hasOwn(e,t)?e[t]:void 0;if(n!==void 0)return n;let r=Object.keys(e).join(", ")||"nothing";throw new Ye(`ctx.grant("${String(t)}"): the workflow lists ${r}; add the name to its grants`)}s(KO,"grantOf");function HO(t){let e=Object.entries(t);return e.length===0?Promise.reject(new Ye("ctx.first({}) would wait for ever: give it named waits")):new Promise((n,r)=>{for(let[o,i]of e)i.then(a=>n({winner:o,value:a}),r)})}s(HO,"first");function Kh(t,e){let n=Nt()?.step;if(n===void 0)return e();throw new Ye(`ctx.${t}() was called inside step "${n}": draw outside, and use the value inside`)}s(Kh,"outsideOfSteps");function JO(t){let e=Bt(t.log),n=s(r=>(o,i)=>{t.isNew()&&e[r](o,i)},"only");return{debug:n("debug"),info:n("info"),warn:n("warn"),error:n("error")}}s(JO,"whileLive");var VO=`what the run waited for has brought its journal above ${wt} bytes: ctx.restart goes on with an empty one`;var qt=class{static{s(this,"Hop")}#e;#t;#n;#r;#o;#s;#d;#i;#u;#m;#a=new Is({said:s(()=>{this.#p.stop(),this.#x.resolve()},"said"),fenced:s(()=>this.#m.end(),"fenced")});#l=new hs;#c;#f;#g=new Ss;#p;#h;#_;#b;#y;#w=!1;#k=!1;#A;#R=!1;#x=It();constructor(e,n,r,o,i,a){this.#e=e,this.#t=n,this.#s=r.journal,this.#h=r.effects,this.#_=r.arms,this.#b=r.seen,this.#n=o,this.#r=i,this.#o=a,this.#d=o.logFor(e);let d=s(()=>$e(e,o,i),"nowMs");this.#c=new $s(r.retries,d,()=>this.#x.resolve());let u={claim:e,deps:o,invocation:i};this.#f=new ks(this,{...u,effects:r.effects,nextTries:this.#c,hopSignal:this.#a.signal,handsOver:s(()=>this.#a.handsOver,"handsOver"),ended:s(()=>this.#x.resolve(),"ended")}),this.#m=new Os(e,o,this.#d),this.#y=e.startsAt??e.admittedAt,this.#u={chance:o.chance,mayGoOn:s(()=>this.mayWrite()&&i.remainingMs()>o.settings.settleReserveMs/2,"mayGoOn"),onPause:s(l=>this.#d.warn("the ledger is out of reach; a result waits",{kind:l.kind}),"onPause")},this.#i=new vs(e,r.journal,o,this.#u),this.#p=new Rs({...u,bodies:this.#g,effects:this.#h,inFlight:this.#f,writer:this.#i,persistence:this.#u,word:this.#a,openCalls:s(()=>this.#l.openCalls(),"openCalls"),resolve:s((l,c,m)=>(this.#S(l,{outcome:"ok",text:c,tries:1,completedAt:m}),ft()),"resolve")})}async run(e,n){this.#v(e),await this.#I();let r=this.#a,o=r.handsOver,i=this.#k||o?void 0:this.#g.mismatch();if(i!==void 0&&(r.refuse(i),r.insist(i)),n!==void 0&&!this.#k&&!o&&!r.refused&&r.mayWrite){let d=await ss(()=>n(u=>this.#C(u)));d!==void 0&&(r.say(d),r.mayWrite&&r.insist(d))}this.#w=!0,this.#p.goLive();for(let d of this.#l.openCalls())this.#p.begin(d);let a=await this.#D();return this.#c.stop(),this.#m.end(),a.kind==="returned"&&Bh(this.standingTries(),this.#d),r.abort("the hop has ended"),a}async ending(e,{open:n,undo:r}){this.#v(e),await this.#I();let o=this.#l,i=s(d=>o.openByKey(d)!==void 0,"isOpen"),a=s(d=>o.undoable(d)!==void 0,"isKnown");return await this.#E(()=>n.every(i)&&r.every(a)),this.#a.say({kind:"fenced"}),this.#k?void 0:o}async rehearse(e,n){this.#v(e),await this.#I(),await this.#E(()=>n!=="its end"&&this.#$(n));let r=this.#l.openCalls().map(i=>i.id),o={missed:this.#A,end:this.#a.end,open:r};return this.#a.say({kind:"fenced"}),o}#$(e){return e.every(n=>this.#l.find(n)!==void 0)}async#C(e){return await this.#E(()=>this.#$(e)),this.#l.openCalls()}async#E(e){let n=this.#n.clock.monotonicMs();for(;this.#a.end===void 0&&!e();){if(this.#n.clock.monotonicMs()-n>this.#n.settings.replayPatienceMs)return;await ft()}}fence(){this.#a.say({kind:"fenced"})}fail(e){this.#a.say(sd(e))}drain(e){this.#a.say({kind:"yielded",why:e})}mayWrite(){return this.#a.mayWrite}journal(){return this.#i.entries()}standingTries(){return this.#l.openCalls().filter(({wait:e})=>typeof e?.tries=="number")}hasTried(){return this.#c.hasTried()}hasWaited(){return this.#p.hasWaited()}unanswered(){return{calls:this.#l.openCalls().map(({id:e})=>e),more:this.#R}}#v(e){let n=s(d=>this.#a.refuse(d),"refuse"),r=s(()=>this.#w||this.#s.length===0||this.#l.closed()>this.#b,"isNew"),o=new gs({epoch:this.#e.epoch,hop:this,stepLimitMs:this.#r.limitMs-this.#n.settings.settleReserveMs,transactionLimitMs:this.#n.settings.transactionLimitMs,deps:this.#n,bodies:this.#g,calls:this.#l,now:s(()=>this.#y,"now"),hasEnded:s(()=>this.#a.end!==void 0,"hasEnded"),askedLate:s(()=>{this.#w&&this.#a.handsOver&&(this.#R=!0)},"askedLate"),decide:s(d=>this.#a.say(d),"decide"),refuse:n,opened:s(d=>{this.#w&&this.#p.begin(d),this.#x.resolve()},"opened"),start:s((d,u)=>{if(this.#a.end!==void 0&&!this.#O(this.#a.end,d))return;let l=this.#f.start(d,u);l!==void 0&&this.#a.say(l)},"start"),startReserve:s(d=>this.#p.start(d),"startReserve"),startChild:s((d,u)=>{this.#a.end!==void 0&&!this.#O(this.#a.end,d)||this.#f.track(d,Kg(this.#e,d,u,this.#_,this.#n,this.#u,this.#r))},"startChild")}),i=Hh({claim:this.#e,held:this.#o,log:this.#d,abortSignal:this.#a.signal,isNew:r,now:s(()=>this.#y,"now"),stream:s((d,u)=>this.#m.say(d,u,r,n),"stream"),emit:s((d,u)=>this.#m.emit(d,u,r,n),"emit"),asking:o});Ve({hop:this,scope:"",step:void 0,held:void 0},s(async()=>this.#t.run(i,e),"body")).then(d=>this.#a.say({kind:"returned",output:d}),d=>this.#a.say(sd(d)))}async#I(){let e=await Fh(this.#s,{find:s(n=>this.#l.find(n),"find"),openCalls:s(()=>this.#l.openCalls(),"openCalls"),end:s(()=>this.#a.end,"end"),refused:s(()=>this.#a.refused,"refused"),resolve:s((n,r)=>this.#S(n,r),"resolve"),missed:s((n,r)=>{this.#A={entry:n,asked:r}},"missed"),patienceMs:this.#n.settings.replayPatienceMs,nowMs:s(()=>this.#n.clock.monotonicMs(),"nowMs")});e!==void 0&&(this.#k=!0,this.#a.insist(e))}async#D(){let e={word:this.#a,writer:this.#i,nextTries:this.#c,log:this.#d,ledgerNowMs:s(()=>$e(this.#e,this.#n,this.#r),"ledgerNowMs"),resolve:s((n,r)=>this.#S(n,r),"resolve"),turn:s((n,r)=>this.#p.turn(n,r),"turn")};for(;;){this.#p.startReleases();let n=this.#f.takeFinished();if(n!==void 0)await qh(n,e);else{if(this.#a.end!==void 0&&this.#f.isEmpty())return this.#a.end;if(await this.#P())this.#a.say({kind:"parked",standing:this.#l.openCalls()});else if(!this.#f.hasFinished()&&!(this.#a.end!==void 0&&this.#f.isEmpty())){let r=setTimeout(()=>{this.#a.end===void 0&&this.#f.isEmpty()&&Wh(this.#e,this.#d,this.#n)},this.#n.settings.overdueAfterMs),o=this.#p.yieldsInTime(this.standingTries());await this.#x.promise,clearTimeout(r),clearTimeout(o),this.#x=It()}}}}#P(){let{clock:e,settings:n}=this.#n;return Gh({still:s(()=>this.#a.end===void 0&&this.#f.isEmpty()&&this.#g.open().length===0&&this.#l.openCalls().length>0&&this.#l.openCalls().every(({wait:r})=>r!==void 0),"still"),asked:s(()=>this.#l.asked(),"asked"),hasAll:s(()=>this.#_.every(({call:r})=>this.#l.wasAsked(r)),"hasAll"),nowMs:s(()=>e.monotonicMs(),"nowMs"),restMs:n.parkRestMs,patienceMs:n.replayPatienceMs})}#O(e,n){return e.kind==="returned"?!0:e.kind==="restarted"&&this.#h.of(n.id).openIntent!==void 0}#S(e,{outcome:n,text:r,tries:o,completedAt:i}){this.#l.close(e),this.#y=i;let a=r===null?void 0:JSON.parse(r);this.#g.resolved(e,a,this.#w);let d=e.wait?.receive;n==="ok"?e.result.resolve(d===void 0?a:d(a)):e.result.reject(new Gt(e.id.name,o,a,e.id.kind))}};async function Ds(t,e){let n=t.workflow,r=e.registry.carrier(n);if(r!==void 0){let i=jr(r);return{workflow:r.definition,adopts:i.digest===n.digest?void 0:i,deps:e}}let o=await e.releases.find(n);switch(o.kind){case"none":return{absent:YO(n,e.registry)};case"unreachable":return{unreachable:`the release of ${Cs(n)} cannot be read: ${o.why}`};case"refused":throw new _e(`the release of ${Cs(n)} is refused: ${o.why}`);case"loaded":{let{registry:i}=o.release,a=i.find(n)?.definition;if(a===void 0)throw new TypeError(`a release has no ${Cs(n)}`);let{name:d,version:u,digest:l}=n;e.logFor(t).info("the run goes on with the code of a release",{workflow:d,version:u,digest:l});let c={...e.delegation,byExecutor:!0};return{workflow:a,adopts:void 0,deps:{...e,registry:i,delegation:c}}}}}s(Ds,"pinnedCode");function Cs({name:t,version:e,digest:n}){return`workflow "${t}" version ${e} with digest ${n}`}s(Cs,"inWords");function YO(t,e){let n=e.find(t),r=n===void 0?"this worker has none of that name and version":`this worker has ${n.digest}`;return`the run is pinned to ${Cs(t)}; ${r}, and there is no release of it`}s(YO,"absence");async function Jh(t,e,n,r){let o=await n.ledger.workflows.buildOf(t.workflow),i=t.workflowAbsentSince,a=i===null?0:t.claimedAt.getTime()-i.getTime();if(o===null||a>=n.settings.deployOverlapMs){let c=o===null?"no build is known to have it":`build "${o}" is known to have it`,m=i===null?"it was never given back":`it was given back for ${Math.floor(a/1e3)} s, since ${i.toISOString()}`;return N("workflow_changed",`${e}; ${c}, and ${m}`)}let{name:d,version:u,digest:l}=t.workflow;return n.logFor(t).warn("this build lacks the run's workflow; its delivery goes back for one that has it",{workflow:d,version:u,digest:l,build:o,waitedSeconds:Math.floor(a/1e3)}),{kind:"given_back",dueAt:new Date($e(t,n,r)+Et),why:"this build lacks its workflow",workflowAbsent:!0}}s(Jh,"endWithoutWorkflow");async function Vh(t,e,n,r){let o={...Gn(t,n),workflowDigest:e.digest};if(await r.faults("worker.before-adopt",t.runId),!await r.ledger.runs.adoptIfClaimed(t,e,o))return{kind:"fenced"};r.logFor(t).info("the run goes on with code that accepts its digest",{workflow:e.name,version:e.version,digest:e.digest,before:t.workflow.digest})}s(Vh,"adopt");var Xh="its timeout does not fit what is left of the invocation",Yh="its code does not come to it any more, or has no undo for it",Zh={outcome:"unknown",result:void 0};async function e_(t){let{claim:e,deps:n}=t,r=(await n.ledger.items.ofRun(e)).filter(({acknowledgedAt:d})=>d===null),o=new Map(r.flatMap(d=>d.kind==="undo"?[[d.key,d]]:[]));if(o.size===0)return{kind:"all"};if(r.some(({kind:d})=>d!=="undo"))return{kind:"some"};let i=await n.ledger.undos.ofRun(e);for(let d of o.values())if(!i.some(({key:u})=>u===d.key)){if(!await Qh(d,"it has not happened, and cannot any more",t))return{kind:"fenced"};o.delete(d.key)}let a=0;for(let{key:d,name:u}of i){let l=o.get(d);if(l===void 0)continue;if(t.stops())return{kind:"some"};let c=await QO(l,u,t);if(t.signal.aborted)return{kind:"fenced"};if(c===Xh&&a>0)return{kind:"some"};if(c!==void 0)return await n.ledger.items.noteError(e,l,c),{kind:"none",why:`step "${u}" could not be undone: ${c}`};if(!await Qh(l,"it is undone",t))return{kind:"fenced"};await n.faults("worker.after-undo",u),a+=1}return{kind:"all"}}s(e_,"undo");async function QO(t,e,n){let{claim:r,deps:o,hop:i,invocation:a,undoable:d,known:u,signal:l}=n,c=d(t);if(c===void 0)return Yh;let{id:m,step:f}=c,{outcome:p,result:h}=u(t),{undo:b,timeoutMs:E}=f;if(b===void 0)return Yh;if(E>a.remainingMs()-o.settings.settleReserveMs)return Xh;let A=o.logFor(r);await o.faults("worker.before-undo",e);let F={hop:i,scope:m.scope,step:`undo of ${e}`,held:void 0},M=await Ve(F,()=>Pt({name:`undo of ${e}`,idempotencyKey:li(r.firstRunId,m),options:{timeoutMs:E},run:s(({idempotencyKey:j,signal:H,log:me})=>b({idempotencyKey:j,stepIdempotencyKey:_t(r.firstRunId,m),signal:H,log:me,outcome:p,result:h}),"run"),hopSignal:l,log:A,overdueAfterMs:o.settings.overdueAfterMs,onOverdue:s(()=>an({call:m,claim:r,log:A},o),"onOverdue")},1));if(M.outcome!=="ok")return A.warn("a step could not be undone; it is tried again later",{step:e,error:Te(M.failure.name)}),M.failure.message.slice(0,300)}s(QO,"undoOne");async function Qh({kind:t,key:e},n,{claim:r,deps:o}){return await o.ledger.items.acknowledge(r,{kind:t,key:e,by:"undo",words:n,under:r})!==null?!0:(await o.ledger.items.ofRun(r)).find(d=>d.kind===t&&d.key===e)?.acknowledgedAt!==null}s(Qh,"acknowledge");async function t_(t,e,n,r,o){let i=new AbortController,a=new AbortController,[d,u]=[!1,!1],l=s(()=>i.abort(new DOMException("the containment does not go on here","AbortError")),"stop");r.onHop({fence:s(()=>{d=!0,o.fence(),l(),a.abort(new DOMException("the claim is gone","AbortError"))},"fence"),drain:s(()=>{u=!0,o.drain(),l()},"drain")});try{let c=await e.ledger.items.ofRun(t),m=s(Y=>ZO(Y.key),"keyOf"),f=new Set(c.filter(({kind:Y})=>Y==="undo").map(m)),p=c.filter(({acknowledgedAt:Y})=>Y===null),h=p.filter(({kind:Y})=>Y==="effect"),b=await Ds(t,e);if(!("workflow"in b)){let Y="absent"in b?"it has come to a build without the run's workflow":b.unreachable;return e.logFor(t).warn("a contain delivery has come to a worker without the run's code",{workflow:t.workflow.name,version:t.workflow.version,digest:t.workflow.digest,why:Y}),await Tt(t,"refused",e,Y)}let E=await Un(t,b.workflow,e);if(!Wn(E))return await Tt(t,"refused",e);let A=await o.take(b.workflow);if(A!==void 0){if(d)return{kind:"fenced"};let Y="why"in A?A.why:"the process is about to end";return e.logFor(t).warn("a contain delivery cannot have what it is to hold",{why:("inLog"in A?A.inLog:void 0)??Y}),await Tt(t,"refused",e,Y)}let F=new qt(t,b.workflow,E,{...b.deps,live:dr},n,o),M=p.filter(({kind:Y})=>Y==="undo").map(m),j=await F.ending(E.input,{open:h.map(m),undo:M});if(j===void 0)return await Tt(t,"refused",e,"this code is not what the run's journal is of");let H=XO(E.journal),me=await Promise.all(h.map(Y=>{let Mt=m(Y),si={item:Y,call:j.openByKey(Mt),isUndone:f.has(Mt),happened:s(Qr=>H.set(Mt,{outcome:"happened",result:Qr}),"happened")};return eC(t,si,i.signal,e)}));if(d)return{kind:"fenced"};if(!me.every(Boolean))return await Tt(t,"failed",e);let ge=await e_({claim:t,deps:e,invocation:n,hop:F,undoable:s(Y=>j.undoable(m(Y)),"undoable"),known:s(Y=>H.get(m(Y))??Zh,"known"),signal:a.signal,stops:s(()=>u,"stops")});return d||ge.kind==="fenced"?{kind:"fenced"}:ge.kind==="none"?await Tt(t,"failed",e,ge.why):await Tt(t,"done",e)}catch(c){if(!(c instanceof _e)&&!(c instanceof Oe))throw c;return e.logFor(t).error("a contain delivery could not be begun",{error:v(c)}),Tt(t,"refused",e)}}s(t_,"carryContain");function XO(t){return new Map(t.map(e=>{let n=e.outcome==="ok",r=n&&e.text!==null?JSON.parse(e.text):void 0;return[G(e),{outcome:n?"happened":"failed",result:r}]}))}s(XO,"knownFrom");function ZO(t){return JSON.stringify(JSON.parse(t))}s(ZO,"sameKey");async function eC(t,{item:e,call:n,isUndone:r,happened:o},i,a){if(n?.step===void 0)return!1;let d=s(async(m,f,p)=>{let h={kind:"effect",key:e.key,by:f,words:m,under:t};return await a.ledger.items.acknowledge(t,{...h,...p&&{effect:p}})!==null},"say"),u=s(async()=>r&&await d("nobody knows; its undo is called whether it has happened or not","undo"),"covered");if(n.step.probe===void 0)return u();let l=a.logFor(t),c=await ad(n.step.probe,{call:n.id,claim:t,options:n.step,log:l,hopSignal:i,overdueAfterMs:a.settings.overdueAfterMs,onOverdue:s(()=>an({call:n.id,claim:t,log:l},a),"onOverdue")});return typeof c=="string"||c.outcome==="unknown"?(l.warn("an effect of an ending run is still unknown",{step:n.id.name,reason:typeof c=="string"?c:"unknown"}),u()):c.outcome==="cannot_happen"?d("it has not happened, and cannot any more","probe",c.outcome):(o(c.result),d("it has happened","probe",c.outcome))}s(eC,"settleEffect");async function Tt(t,e,n,r="an effect is still unknown"){let{settled:o,ended:i}=await n.ledger.deliveries.settleContainIfClaimed(t,e);if(!o)return{kind:"fenced"};if(i!==null)return{kind:"contained",outcome:e,ended:!0};e!=="done"&&await n.ledger.runs.raiseAttention(t,ie(`containment ${e}`,r));let a=await n.ledger.items.containSooner(t,n.settings.maxContainDeliveries);return{kind:"contained",outcome:e,ended:a.ended!==null}}s(Tt,"finish");var Ps=class{static{s(this,"Holdings")}#e;#t;#n;#r;#o=new AbortController;#s=[];#d;#i=[];#u=[];#m;#a;constructor(e,n,r){this.#e=e,this.#t=n,this.#n=r,this.#r=n.logFor(e);let o=s(i=>{this.#a===void 0?this.#_("what a hop holds has left an error to the process",i):this.#a.fail(i)},"leftBehind");this.#d={hop:{fail:o},scope:"",step:void 0,held:void 0}}get grants(){return Object.fromEntries(this.#i)}get resources(){return Object.fromEntries(this.#u)}get untilMs(){return Math.min(...this.#i.map(([,{expiresAt:e}])=>e?.getTime()??1/0))}get isEmpty(){return this.#s.length===0}fence(){this.#h("fenced")}drain(){this.#h("drained")}carriedBy(e){this.#a=e}async checkAuthority(e){if(e.authority===void 0)return;let{tenantId:n,runId:r,requestedBy:o,requestedRoles:i}=this.#e,a={tenantId:n,runId:r,subject:o,roles:i,required:e.authority.roles},d=await this.#f("the authority",async u=>wi(await this.#t.authority.check({...a,workflow:this.#e.workflow},u)));if(d.kind!=="answered")return d;if(d.answer.outcome!=="valid")return{kind:"refused",code:"authority_revoked",why:`the authority of "${o}" does not hold: ${d.answer.reason}`}}async take(e){for(let n of e.grants){let r=await this.#l(n);if(r!==void 0)return r}for(let[n,r]of Object.entries(e.resources)){let o=await this.#c(n,r);if(o!==void 0)return o}}async release(){this.#a=void 0;for(let e=this.#s.pop();e!==void 0;e=this.#s.pop())await this.#g(e.what,e.back)}async#l(e){let{tenantId:n,runId:r,requestedBy:o,requestedRoles:i,workflow:a,seq:d}=this.#e,u=`the grant "${e}"`,l=await this.#f(u,async h=>bi(await this.#t.grants.acquire({tenantId:n,runId:r,name:e,subject:o,roles:i,workflow:a,seq:d},h)),h=>h.outcome==="granted"?h.release:void 0);if(l.kind!=="answered")return l;let{answer:c}=l;if(c.outcome==="refused")return{kind:"refused",code:"grant_refused",why:`${u} was refused to "${o}": ${c.reason}`};let{value:m,expiresAt:f,release:p}=c;if(p!==void 0&&this.#s.push({what:u,back:p}),f!==void 0&&f.getTime()<=$e(this.#e,this.#t,this.#n))return{kind:"unknown",why:`${u} had expired when it was given, at ${f.toISOString()}`};this.#i=[...this.#i,[e,Object.freeze({value:m,expiresAt:f})]]}async#c(e,n){let{tenantId:r,runId:o}=this.#e,{grants:i}=this,a=s(c=>n.dispose===void 0?void 0:()=>n.dispose?.(c),"disposal"),d=`the resource "${e}"`,u=await this.#f(d,c=>n.build({tenantId:r,runId:o,grants:i,log:Bt(this.#r),signal:c}),a);if(u.kind!=="answered")return u;let l=a(u.answer);l!==void 0&&this.#s.push({what:d,back:l}),this.#u=[...this.#u,[e,u.answer]]}async#f(e,n,r=()=>{}){if(this.#m!==void 0)return{kind:this.#m};let{settings:o,faults:i}=this.#t,a=o.leaseHeld?sn:this.#p(o.ownerDeadlineMs,o.settleReserveMs),{promise:d,resolve:u}=Promise.withResolvers(),l=!1,c=s(b=>{let E=!l;return l=!0,u(b),E},"decide"),m=new AbortController,f=s(()=>{c({kind:this.#m??"fenced"})},"stopped");this.#o.signal.addEventListener("abort",f,{once:!0});let p=setTimeout(()=>c({kind:"unknown",why:`${e}: no answer within ${a} ms`}),a);Ve(this.#d,async()=>{await i("holdings.before-ask",e);let b=await n(m.signal);return await i("holdings.after-ask",e),b}).then(b=>{let E=r(b);!c({kind:"answered",answer:b})&&E!==void 0&&this.#g(e,E)},b=>{let[E,A]=[`${e}: ${tC(b)}`,`${e}: ${v(b)}`];c({kind:"unknown",why:E,inLog:A})});let h=await d;return clearTimeout(p),this.#o.signal.removeEventListener("abort",f),h.kind!=="answered"&&m.abort(new DOMException("nobody waits for it any more","AbortError")),h}async#g(e,n){let{settings:r,faults:o}=this.#t;try{let i=Ve(this.#d,async()=>{await o("holdings.before-release",e),await n(),await o("holdings.after-release",e)});if(await ce(i,this.#p(r.ownerDeadlineMs,r.settleReserveMs/2)))return;i.catch(a=>this.#_(`${e} was given back late, and failed`,a)),this.#r.warn("what a hop held was not given back in time; nobody waits for it any more",{name:e})}catch(i){this.#_(`${e} could not be given back`,i)}}#p(e,n){return Math.max(0,Math.min(e,this.#n.remainingMs()-n))}#h(e){this.#m!=="fenced"&&(this.#m=e),this.#o.abort()}#_(e,n){this.#r.warn(e,{error:v(n)})}};function tC(t){let{name:e,message:n}=T(t);return`${e}: ${n}`.slice(0,300)}s(tC,"messageOf");function Ns(t,e,n){return Promise.all(e.flatMap(({id:r,wait:o})=>{if(o===void 0)return[];let i={call:r,armId:n.ids.next(),owner:o.owner,dueAt:o.dueAt,tries:o.tries},{consent:a,job:d}=o;return a!==void 0?[nC(t,a,n).then(u=>({...i,consent:u}))]:d!==void 0?[rC(t,r.name,d,n).then(u=>({...i,attempt:u}))]:[Promise.resolve(i)]}))}s(Ns,"standingOf");async function nC(t,e,{codec:n,ids:r}){let{title:o,deciders:i,quorum:a,expiresMs:d,onExpiry:u,requesterMayDecide:l,source:c}=e,m=Se({runId:t.runId,workflow:t.workflow,...dd(e)}),{tenantId:f,runId:p}=t,[h,b]=await ct(`the consent "${o}"`,async()=>[await n.encode(m,{tenantId:f,runId:p,kind:"consent"}),await Je(n,m)]);return{consentId:r.next(),title:o,requestText:h,storedDigest:q(h),requestDigest:b,deciders:i,quorum:a,requesterMayDecide:l,onExpiry:u,expiresInSeconds:d===null?null:d/1e3,source:c}}s(nC,"frozen");async function rC(t,e,n,{codec:r,ids:o}){let{service:i,definition:a,requestText:d,deadlineMs:u,heartbeatMs:l}=n,{tenantId:c,runId:m}=t,[f,p]=await ct(`the job "${e}"`,async()=>[await r.encode(d,{tenantId:c,runId:m,kind:"job"}),await Je(r,Wg(n))]),h=o.next(),b=s(E=>E===null?null:E/1e3,"seconds");return{attemptId:h,service:i,adapter:a.adapter,adapterVersion:a.version,serviceDigest:un(a),traits:a.traits,requestText:f,storedDigest:q(f),requestDigest:p,idempotencyKey:`ghouls-${h}`,pollSeconds:b(a.times.pollMs),heartbeatSeconds:b(l),deadlineSeconds:b(u)}}s(rC,"frozenJob");async function bd(t,{journal:e,calls:n,idle:r,dueAt:o},i,a){let{deliveries:d}=a.ledger,u=Gn(t,e),l={idle:r,publisherGraceSeconds:a.settings.publisherGraceSeconds,...o===void 0?{}:{dueAt:o}},c=await Ns(t,n,a);await a.faults("worker.before-handover",t.runId);let m=c.length===0?await d.yieldIfClaimed(t,u,l):await d.yieldStandingIfClaimed(t,u,c,l);return await a.faults("worker.after-handover",t.runId),m===null?{kind:"fenced"}:(o===void 0&&i!=="pause"&&await qs(t,m,a),{kind:"handed_over",outcome:o===void 0?"continued":"given_back",why:i})}s(bd,"handOver");async function kd(t,e,n){await n.faults("worker.before-handover",t.runId);let r=await n.ledger.deliveries.giveBackIfClaimed(t,e.dueAt,e.workflowAbsent);return await n.faults("worker.after-handover",t.runId),r===null?{kind:"fenced"}:{kind:"handed_over",outcome:"given_back",why:e.why}}s(kd,"giveBack");async function qs(t,e,n){let{tenantId:r,runId:o}=t;await n.publisher.publish({tenantId:r,runId:o,enqueueSeq:e.enqueueSeq,queue:e.queue})}s(qs,"publishNext");import{SpanKind as aC}from"@opentelemetry/api";async function Ts(t,e,n,r){let{answer:o,outcome:i}=await Bn(t,sC(e,n),r.codec),a,d=await r.ledger.attempts.change(t,l=>{if(!oC(l,t,o,n)){a=l;return}if(!(n.sentFor===void 0&&(o.state==="unknown"||o.state==="unsent")&&l.looks!==t.looks))return xd(l,zt({...vt(l),late:n.late},o),o,{outcome:i,by:"service",sentFor:n.sentFor})},r.settings),u=o.state==="accepted"||o.state==="running";if(a!==void 0&&!u&&await Ed(a,o,i,r),await St(t,d,r),d!==null&&(o.state==="unknown"||o.state==="unsent")){let{runId:l,attemptId:c,service:m}=t;r.log.warn("a question about a job came to nothing; its attempt says why",{runId:l,attemptId:c,service:m})}return d}s(Ts,"recordAnswer");function oC(t,e,n,{sentFor:r}){if(t.token!==e.token||t.closedAt!==null)return!1;let o=n.state==="succeeded"||n.state==="failed",i=r!==void 0&&["accepted","running","unsent"].includes(n.state);return t.status===e.status||o||i}s(oC,"mayMove");function sC(t,{sentFor:e}){return t.state==="unsent"&&e===void 0?{state:"unknown",why:t.why}:t}s(sC,"heard");function xd(t,e,n,r){let{outcome:o,by:i,sentFor:a,usesCallback:d=!1}=r,u=e.kind==="move"?e.to:t.status,l=u==="SUCCEEDED"||u==="FAILED";return{status:u,by:i,acknowledged:n.state==="accepted"||n.state==="running"||l,missed:e.kind==="keep"&&e.missed,nextLookSeconds:mt(t,u),usesCallback:d,...l&&o!==void 0?{report:o.report}:{},..."why"in e?{why:e.why}:{},...n.state==="unsent"?iC(t,n.why):{},...a===void 0?{}:{sentFor:a}}}s(xd,"changeOf");function iC({misses:t},e){return{unsent:!0,...t+1<3?{}:{attention:`it cannot be sent: ${e}`}}}s(iC,"unsentOf");async function St(t,e,{publisher:n,log:r}){if(e===null)return;let{runId:o,attemptId:i,service:a}=t;if(e.status!==t.status){let d=e.status==="UNCERTAIN"?"warn":"info";r[d]("an attempt has moved",{runId:o,attemptId:i,service:a,before:t.status,after:e.status})}e.ended!==null&&r.info("a run has ended with its last job",{runId:o,status:e.ended}),e.resumption!==null&&await n.publish(e.resumption)}s(St,"follow");async function Ed(t,e,n,{ledger:r,codec:o,log:i}){if(t.closedAt===null)return;let d=t.reportText===null&&t.reportDigest!==null?n?.canonical:await Ls(t,o),u=sh(t,e,n,d);if(u===void 0)return;let{runId:l,attemptId:c,service:m,status:f}=t;i.error("a service contradicts the end of its job",{runId:l,attemptId:c,service:m,status:f}),await r.attempts.keepContradiction(t,u)}s(Ed,"tellContradiction");async function Ls(t,e){let{tenantId:n,runId:r,reportText:o,reportDigest:i}=t;if(o!==null)return Ce(o,i,"a report",a=>e.decode(a,{tenantId:n,runId:r,kind:"report"}))}s(Ls,"saidOf");var dC=1e3,Hr=class extends Error{static{s(this,"ExecutorError")}constructor(e){super(e),this.name="ExecutorError"}},uC=30*86400;function vd(t,{services:e}){let n=t.service,r=Object.hasOwn(e,n)?e[n]:void 0;if(r===void 0)throw new Hr(`the configuration has no service "${n}"`);if(un(r)!==t.serviceDigest)throw new Hr(`the service "${n}" is another executor now than the one that the job was made for`);return r}s(vd,"executorOf");async function Id(t,e,n,r,{delegation:o}){let i=Math.floor(Math.min(t.times.timeoutMs,r));if(i<1)return{answer:{state:"unknown",why:"there was no time left to ask"},over:!0};try{let{runId:a,attemptId:d}=n.job,u={"ghouls.run_id":a,"ghouls.attempt_id":d,"ghouls.service":e,"ghouls.question":n.kind};return{answer:await et("ghouls.ask",{kind:aC.CLIENT,attributes:u},async c=>{let m=await o.egress.ask(e,n,i);return c.setAttribute("ghouls.outcome",m.state),m}),over:!0}}catch(a){return{answer:{state:"unknown",why:T(a).message.slice(0,300)},over:!(a instanceof rn)}}}s(Id,"ask");async function Ms(t,e,n,r=()=>e.settings.ownerDeadlineMs){let{delegation:o,ids:i,clock:a,faults:d,settings:u,worker:l}=e,c=vd(t,o),m=Math.min(c.times.timeoutMs,r())+dC;if(n()<m||r()<1)return null;let f=await cC(t,e),p=o.publicUrl===void 0?null:{url:mC(o.publicUrl,t.attemptId),token:o.newToken()},h=p===null?null:md(t,p.token),[b,E,A]=[a.monotonicMs(),a.wallMs(),n()],F=i.next();if(await d("delegate.before-claim",t.attemptId),!await lC(t,F,{deps:e,submission:{token:F,submitter:l,sendsForSeconds:Math.max(0,A)/1e3+u.actsMarginSeconds,callbackDigest:h,callbackSeconds:uC,nextLookSeconds:Math.ceil(c.times.timeoutMs/1e3)+u.publisherGraceSeconds}}))return null;await d("delegate.after-claim",t.attemptId);let j=Math.max(a.monotonicMs()-b,a.wallMs()-E),H={...t,status:"SUBMITTING",token:F,callbackDigest:h};if(j>A)return null;let{tenantId:me,runId:ge,attemptId:Y,idempotencyKey:Mt}=t,si={tenantId:me,runId:ge,attemptId:Y,idempotencyKey:Mt,requestText:f,callback:p},{answer:Qr,over:Xy}=await Id(c,t.service,{kind:"submit",job:si},r(),e);await d("delegate.after-submit",Y);let Zy=Xy?u.actsMarginSeconds:null,ew=Qr.state==="unknown"?Zy:0,tw=await Ts(H,Qr,{late:!1,sentFor:ew},e);return await d("delegate.after-answer",Y),tw}s(Ms,"submitJob");async function lC(t,e,{deps:{ledger:n},submission:r}){try{return await n.attempts.claimSubmission(t,r)}catch(o){if(!(o instanceof W)||o.kind!=="unknown")throw o;let i=await n.attempts.get(t);return i?.status==="SUBMITTING"&&i.token===e}}s(lC,"claim");async function cC(t,{ledger:e,codec:n}){let{tenantId:r,runId:o,storedDigest:i}=t,a=(await e.attempts.get(t))?.requestText??"";return Ce(a,i,"a job's request",d=>n.decode(d,{tenantId:r,runId:o,kind:"job"}))}s(cC,"requestOf");function mC(t,e){return`${t.replace(/\/+$/,"")}/v1/attempts/${e}/callback`}s(mC,"callbackUrl");function n_(t){return t instanceof Hr||t instanceof Oe||t instanceof _e}s(n_,"isOfAttempt");async function r_(t,e,n,r,o){let i=await Ns(t,n,r);await r.faults("worker.before-park",t.runId);let a=Gn(t,e),{publisherGraceSeconds:d}=r.settings,u=s(()=>r.ledger.deliveries.parkIfClaimed(t,a,i,{publisherGraceSeconds:d}),"commit"),l=await u();for(;l?.kind==="mismatch"&&l.ownerId!==void 0;){let{ownerId:c,key:m}=l,f=n.find(h=>h.key===m)?.wait,p=await Wr(t,c,f,r);if(p===void 0)break;i=i.map(h=>G(h.call)===m?fC(h,p):h),l=await u()}if(await r.faults("worker.after-park",t.runId),l===null)return{kind:"fenced"};switch(l.kind){case"mismatch":return{kind:"refused",end:N("journal_mismatch",`${l.what}: the code has changed or is not deterministic`)};case"continued":return await qs(t,l.next,r),{kind:"handed_over",outcome:"continued",why:"what it waited for had happened"};case"parked":return await Promise.all([gC(t,l.arms,r),pC(t,l.arms,o,r)]),{kind:"parked",status:l.status}}}s(r_,"park");function fC(t,e){return t.consent!==void 0?{...t,consent:{...t.consent,requestDigest:e}}:t.attempt===void 0?t:{...t,attempt:{...t.attempt,requestDigest:e}}}s(fC,"withDigest");async function pC(t,e,n,r){if(!n.endsByForce||!e.some(({attemptStatus:i})=>i==="DEFINED"))return;let o=r.logFor(t);try{let i=await r.ledger.attempts.definedOfRun(t);await Promise.all(i.map(a=>Ms(a,{...r,log:o},n.remainingMs).catch(d=>{o.warn("a job could not be submitted; the reconciler looks after it",{name:a.name,error:v(d)})})))}catch(i){o.warn("the run's jobs could not be read; the reconciler looks after them",{error:v(i)})}}s(pC,"submitAtOnce");async function gC(t,e,n){let r=e.flatMap(({armId:a,dueInSeconds:d,call:u,seq:l})=>{if(d===null||d>We)return[];if(l!==t.seq&&u.kind!=="step")return[];let c=Math.max(0,Math.ceil(d));return[{armId:a,tenantId:t.tenantId,queue:t.queue,delaySeconds:c}]});if(r.length===0)return;let o=await n.queue.wake(r),[i]=o;i!==void 0&&n.logFor(t).warn("timers could not be sent; the reconciler will wake the run",{count:o.length,reason:i})}s(gC,"wakeInTime");async function o_(t,e,n){let r=await hC(t,e,n);if("end"in r)return{kind:"refused",end:r.end};await n.faults("worker.before-restart",t.runId);let o=await n.ledger.runs.restartIfClaimed(t,{inputText:r.stored,inputDigest:q(r.stored),workflowDigest:t.workflow.digest,journalDigest:as([]),epoch:t.epoch},{publisherGraceSeconds:n.settings.publisherGraceSeconds});return await n.faults("worker.after-restart",t.runId),o===null?{kind:"fenced"}:(await qs(t,o,n),{kind:"handed_over",outcome:"continued",why:"restart"})}s(o_,"restart");async function hC(t,e,n){let r=s((o,i)=>({end:N(o,`ctx.restart: the new input ${i}`)}),"refuse");try{let o=de(e)??"null",i=n.registry.find(t.workflow)?.definition,a=i===void 0?void 0:await us(i,o);if(a!==void 0)return r("input_invalid",`does not fit the workflow's schema: ${a}`);let{tenantId:d,runId:u}=t,l={tenantId:d,runId:u,kind:"input"};return{stored:await ct("the input of a restart",()=>n.codec.encode(o,l))}}catch(o){if(o instanceof se)return r(o.reason,o.message);throw o}}s(hC,"newInput");import{setTimeout as wC}from"node:timers/promises";async function js(t,e,n,r){let{tenantId:o,runId:i}=t,a=n.kind==="returned"?await yC(e,n.output):n.failure;if(_C(a)){let u=await r.codec.encode(JSON.stringify(a),{tenantId:o,runId:i,kind:"error"});return{status:"FAILED",errorCode:a.code,errorText:u,errorDigest:q(u)}}if(a.text===void 0)return{status:"DONE",outputText:null,outputDigest:null};let d=await r.codec.encode(a.text,{tenantId:o,runId:i,kind:"output"});return{status:"DONE",outputText:d,outputDigest:q(d)}}s(js,"settlementOf");function _C(t){return"code"in t}s(_C,"isFailure");async function yC(t,e){try{let n=await t?.output?.safeParseAsync(e);return n!==void 0&&!n.success?{code:"output_invalid",name:"Refused",message:`what the workflow returned does not fit its output schema: ${n.error.issues.slice(0,10).map(o=>`/${o.path.map(String).join("/")}: ${o.message}`).join("; ").slice(0,1500)}`}:{text:de(n===void 0?e:n.data)}}catch(n){return n instanceof se?{code:n.reason,name:"Refused",message:`what the workflow returned: ${n.message}`}:{code:"output_invalid",name:"Refused",message:`the output schema threw: ${T(n).message.slice(0,500)}`}}}s(yC,"outputOf");async function s_(t,e,n){await n.faults("worker.before-settle",t.runId);let r=await n.ledger.deliveries.settleIfClaimed(t,e);return await n.faults("worker.after-settle",t.runId),r}s(s_,"settle");var bC="Code outside of steps must do the same each time: use ctx.now(), ctx.random() and ctx.uuid() instead of Date.now(), Math.random() and crypto.randomUUID(), and read what may change inside a step.";async function d_(t,e,n){let{claim:r,workflow:o}=t,i=e.logFor(r);try{await e.faults("worker.before-replay-check",r.runId),await kC(e);let a=await xC(t,e,n);if(a!==void 0){let{name:d,version:u}=o;i.warn(`${d}: on replay, ${a}`,{check:"replay",workflow:d,version:u,fix:bC})}await e.faults("worker.after-replay-check",r.runId)}catch(a){i.warn("a hop could not be replayed for the check",{error:v(a)})}}s(d_,"checkReplay");async function kC({clock:t}){let e=t.wallMs();for(;t.wallMs()<=e;)await wC(1)}s(kC,"untilLater");async function xC(t,e,n){let{claim:r,workflow:o,end:i,unanswered:a,journalLength:d}=t;if(i.kind==="failed"&&i.failure.code==="journal_mismatch")return;let u={...r,journalLength:r.journalStart+d},l=d===0?[]:await e.ledger.journal.read(r,r.journalStart),c=await ds(u,l.slice(0,d),e.codec),m=await Un({...r,journalLength:r.journalStart,checkpointGeneration:null,seq:1},o,e);if(!Wn(m))return;let f={...e,log:a_,logFor:s(()=>a_,"logFor"),live:dr},p={...n,remainingMs:s(()=>n.limitMs,"remainingMs")},b=await new qt(u,o,{...m,journal:c},f,p,t.held).rehearse(m.input,Sd(i)?"its end":a.calls),{missed:E}=b;if(E===void 0)return EC(t,b);let A=E.asked.length===0?"not asked for":E.asked.join(", ").slice(0,500);return`call ${E.entry.ordinal} is ${A} where the run had ${Fe(E.entry)}`}s(xC,"differenceOf");async function EC({claim:t,workflow:e,end:n,unanswered:r},{end:o,open:i}){let a=o!==void 0&&Sd(o)?o:void 0;if(n.kind==="parked"||on(n))return vC(r,a,i);if(!Sd(n))return;if(a===void 0){let l=u_(i);return l!==""?`it asks for ${l} where the run ${Jr(n)}`:`it does not come to its end, where the run ${Jr(n)}: it waits for something outside of steps`}let[d,u]=await Promise.all([i_(t,e,n),i_(t,e,a)]);if(d!==u)return a.kind!==n.kind||n.kind==="failed"?`it ${Jr(a)} where the run ${Jr(n)}`:n.kind==="returned"?"it returns something else than in the run":"it continues as new with another input than in the run"}s(EC,"differenceOfEnds");function vC({calls:t,more:e},n,r){let o=new Set(r.map(G)),i=t.find(u=>!o.has(G(u)));if(i===void 0&&!(e&&n!==void 0))return;let a=i===void 0?"went on":`asked for ${Fe(i)}`;return`it ${n===void 0?`asks for ${u_(r)||"nothing"}`:Jr(n)} where the run ${a}`}s(vC,"differenceOfCalls");function u_(t){return t.map(Fe).join(", ").slice(0,500)}s(u_,"inList");function Sd(t){return t.kind==="returned"||t.kind==="restarted"?!0:t.kind==="failed"&&(t.failure.code==="workflow_failed"||t.failure.code==="step_failed")}s(Sd,"isOfCode");function Jr(t){return t.kind==="returned"?"returned":t.kind==="restarted"?"continued as new":`failed (${t.failure.name}: ${t.failure.message.slice(0,200)})`}s(Jr,"inWords");async function i_(t,e,n){if(n.kind==="failed"){let{code:o,name:i,message:a,step:d}=n.failure;return JSON.stringify([o,i,a,d??null])}if(n.kind==="restarted")return IC(n.input);let r=await js(t,e,n,{codec:$i});return r.status==="DONE"?`DONE ${r.outputDigest}`:`FAILED ${r.errorDigest}`}s(i_,"endOf");function IC(t){try{return de(t)??"null"}catch(e){return T(e).message}}s(IC,"newInputOf");var a_={debug:s(()=>{},"debug"),info:s(()=>{},"info"),warn:s(()=>{},"warn"),error:s(()=>{},"error")};async function zs(t,e,n,r){let o=s(i=>new Date($e(e,n,r)+i),"due");switch(t.kind){case"refused":return N(t.code,t.why);case"fenced":return{kind:"fenced"};case"drained":return{kind:"given_back",dueAt:o(0),why:"drain"};case"unknown":return n.logFor(e).warn("a hop cannot have what it is to hold; its delivery goes back",{why:t.inLog??t.why}),await c_(e,"holdings_unknown",t.why,n),{kind:"given_back",dueAt:o(Et),why:"it is not known what it may hold"}}}s(zs,"endOf");async function l_(t,e,n,r){return n.logFor(t).warn("the release of a run cannot be read; its delivery goes back",{why:e}),await c_(t,"release_unreachable",e,n),{kind:"given_back",dueAt:new Date($e(t,n,r)+Et),why:"its release cannot be read"}}s(l_,"endWithoutRelease");async function c_(t,e,n,{ledger:r,logFor:o,settings:i}){let a=i.giveBacksBeforeAttention;try{await r.deliveries.wereGivenBack(t,a)&&await r.runs.raiseAttention(t,ie(e,`${n} (given back ${a} times before)`))}catch(d){o(t).warn("attention could not be raised",{error:v(d)})}}s(c_,"askForAPerson");async function f_(t,e,n,r){let o=new Ps(t,e,n);r.onHop(o),$g(t,e.worker,e);let i=await AC(o,t,e,n,r);Og(t,i,e),await o.release();let a=await SC(i,t,e,n),d=Rg(t,a,e,n);return a?await Ag(t,e,n):await td(t,e,n),await d,i}s(f_,"carry");async function SC(t,e,n,r){return t.kind==="settled"?pe(t.status):t.kind==="contained"?t.ended:(t.kind==="fenced"||t.kind==="unknown"&&!r.endsByForce)&&PC(e,n,r)}s(SC,"hasEnded");async function AC(t,e,n,r,o){try{return await n.faults("worker.after-claim",e.runId),e.cause==="contain"?await t_(e,n,r,o,t):await RC(e,n,r,o,t)}catch(i){return i instanceof _e?qC(e,i.message,n):i instanceof Oe?NC(e,i,n,r):{kind:"unknown",error:i}}}s(AC,"carryWith");async function RC(t,e,n,r,o){let i=await Ds(t,e);if("workflow"in i)return $C(i,t,n,r,o);let a="absent"in i?await Jh(t,i.absent,e,n):await l_(t,i.unreachable,e,n);return tt(t,a,e,n,void 0)}s(RC,"carryHop");async function $C(t,e,n,r,o){let{deps:i}=t,a=await o.checkAuthority(t.workflow);if(a!==void 0){let H=await zs(a,e,i,n);return tt(e,H,i,n,void 0)}let d=await Un(e,t.workflow,i);if(!Wn(d)){if(t.adopts!==void 0&&d.kind==="failed")throw m_(t.adopts,d.failure.message);return tt(e,d,i,n,void 0)}if(e.deadlineAt!==null&&e.claimedAt>=e.deadlineAt){let H=`the run's deadline ${e.deadlineAt.toISOString()} had passed when a worker claimed it`;return tt(e,N("deadline",H),i,n,void 0)}if(e.workflowAbsentSince!==null&&!await i.ledger.runs.clearAbsenceIfClaimed(e))return{kind:"fenced"};let u=await o.take(t.workflow);if(u!==void 0)return tt(e,await zs(u,e,i,n),i,n,void 0);for(let H of d.journal.slice(e.seq===1?0:d.seen))os(e,H,i.live);let l={...n,holdsUntilMs:o.untilMs},c=new qt(e,t.workflow,d,i,l,o);o.carriedBy(c),r.onHop(c);let{adopts:m,workflow:f}=t,p=!1,h=s(async(H,me)=>{let ge=await Bg(e,d,await me(ld(d)),i);if(ge!==void 0)return N("journal_mismatch",ge);let Y=await Vh(e,H,d.journal,i);return p=Y===void 0,Y},"takeOver"),b=await c.run(d.input,m===void 0?void 0:H=>h(m,H)),E=dh(b,d.arms)??b;if(m!==void 0&&!p&&E.kind==="unknown"&&OC(E.error))throw E.error;let A=c.unanswered();if(m!==void 0&&!p&&E.kind==="failed")throw m_(m,E.failure.message);let F=m===void 0||!p?e:{...e,workflow:m},M=await tt(F,E,i,n,c),j=M.kind!=="fenced"&&M.kind!=="unknown"&&M.kind!=="quarantined";if(i.settings.replayCheck&&j){let H=c.journal().length,ge=d_({claim:F,workflow:f,end:E,unanswered:A,held:o,journalLength:H},i,n);o.isEmpty||await ge}return M}s($C,"carryCode");function OC(t){return t instanceof Oe||t instanceof _e}s(OC,"isOfMaterial");function m_(t,e){return new _e(`workflow digest ${t.digest} accepts the run's, but ${e}`)}s(m_,"untrue");async function tt(t,e,n,r,o){switch(e.kind){case"fenced":case"unknown":return e;case"given_back":{let[i,a]=[o?.journal()??[],o?.standingTries()??[]];return we(()=>a.length===0?kd(t,e,n):bd(t,{journal:i,calls:a,idle:!1,dueAt:e.dueAt},e.why,n),Fs(t,n,r,o))}case"yielded":{let i=o?.journal()??[],a=i.length-(t.journalLength-t.journalStart),u=o!==void 0&&a===0&&!o.hasTried()&&!o.hasWaited()&&(e.why==="time"||e.why==="grant");if(u&&e.why==="grant")return tt(t,await zs({kind:"unknown",why:"a grant had expired before a step could start"},t,n,r),n,r,o);if(!u||t.idleYields===0){let l=o?.standingTries()??[];return we(()=>bd(t,{journal:i,calls:l,idle:u},e.why,n),Fs(t,n,r,o))}return tt(t,N("no_progress",CC),n,r,o)}case"parked":case"restarted":{let i=o?.journal()??[];if(e.kind==="restarted"&&i.length===0)return tt(t,N("no_progress",DC),n,r,o);let a=await we(()=>e.kind==="parked"?r_(t,i,e.standing,n,r):o_(t,e.input,n),Fs(t,n,r,o)).catch(d=>{if(d instanceof Oe)return d;throw d});return a instanceof Oe?tt(t,Gr(t,a,n,r),n,r,o):a.kind==="refused"?tt(t,a.end,n,r,o):a}case"returned":case"failed":{let i=n.registry.find(t.workflow)?.definition,a=await js(t,i,e,n),d=await we(()=>s_(t,a,n),Fs(t,n,r,o));if(!d.settled)return{kind:"fenced"};a.status==="FAILED"&&a.errorCode==="effect_unknown"&&await n.ledger.runs.raiseAttention(t,ie("effect_unknown","an effect may or may not have happened")),pe(d.runStatus)&&await Jg(t,n,n.logFor(t));let u=a.status==="FAILED"?a.errorCode:void 0;return{kind:"settled",status:d.runStatus,...u===void 0?{}:{code:u}}}}}s(tt,"conclude");function Fs(t,e,n,r){return{chance:e.chance,mayGoOn:s(()=>r?.mayWrite()!==!1&&n.remainingMs()>e.settings.settleReserveMs/2,"mayGoOn"),onPause:s(o=>e.logFor(t).warn("the ledger is out of reach; the hop's end waits",{kind:o.kind}),"onPause")}}s(Fs,"persistenceOf");var CC="two invocations in a row ended without a new journal entry: a step does not fit into one",DC="ctx.restart without a single journaled call before it would go on for ever";async function PC(t,e,{endsByForce:n}){let r=!1,o=s(()=>{r||e.logFor(t).warn("the ledger is out of reach; a worker's word about its end waits"),r=!0},"sayOnce");try{let i=await we(()=>e.ledger.items.acknowledgeWorker(t),{chance:e.chance,mayGoOn:s(()=>!n&&!e.draining.aborted,"mayGoOn"),onPause:o});return i!==null&&i.ended!==null}catch(i){return e.logFor(t).warn("a worker could not acknowledge its own end",{error:v(i)}),!1}}s(PC,"acknowledge");async function NC(t,e,n,r){try{return await kd(t,Gr(t,e,n,r),n)}catch(o){return{kind:"unknown",error:o}}}s(NC,"later");async function qC(t,e,n){try{return await n.ledger.runs.quarantineIfClaimed(t,e)?{kind:"quarantined",reason:e}:{kind:"fenced"}}catch(r){return{kind:"unknown",error:r}}}s(qC,"quarantine");var TC=10;async function p_(t,e){let n=new Map;return await Promise.all(t.map(async({messageId:r,body:o})=>{let i=Qn(o);i!==void 0&&n.set(r,await LC(i,e))})),n}s(p_,"wakeUp");async function LC(t,{ledger:e,publisher:n,settings:r,metrics:o,log:i,faults:a}){try{let d=await e.arms.runOf(t);if(d===null||!d.open)return{done:!0,reason:"timer_closed"};let{tenantId:u,runId:l,dueInSeconds:c}=d;if(c!==null&&c>0)return{done:!1,reason:"timer_early",retryInSeconds:Math.min(We,Math.ceil(c))};let m=await e.runs.resume({tenantId:u,runId:l},r.publisherGraceSeconds);return await a("worker.after-wake",l),m===null?{done:!0,reason:"timer_kept"}:(o.record("TimerLateness",Math.max(0,-(c??0))),i.info("a run was brought back by its timer",{runId:l,armId:t,lateSeconds:Math.round(-(c??0))}),await n.publish(m),{done:!0,reason:"timer_woke"})}catch(d){return i.warn("a timer's message could not be followed; it comes back",{armId:t,error:v(d)}),{done:!1,reason:"timer_unknown",retryInSeconds:TC}}}s(LC,"wakeArm");async function Hn({tenantId:t,runId:e},n,{codec:r,log:o},i){try{let a=r.encode(JSON.stringify(n),{tenantId:t,runId:e,kind:"error"}),d=await(i===void 0?a:re(a,i));return{errorText:d,errorDigest:q(d)}}catch(a){o.error("the codec could not write why a run ends; the next pass tries",{runId:e,code:n.code,error:v(a)});return}}s(Hn,"keptFailure");var Gs=s(({withinMs:t})=>Math.max(0,t()/2),"encodingMs");var Q={kind:"repaired"},J={kind:"left"};function ve(t,e){return{found:t.found.map(n=>({...n,owner:e(n)})),next:t.next}}s(ve,"ownedBy");function Ie(t,e){return{pass:t.name,...t.describe(e)}}s(Ie,"noteOf");function g_(t){let{ledger:e,pageSize:n}=t,r={name:"reanimation",asks:!1,batch:n,find:s(async o=>ve(await e.deliveries.lapsed(o),({runId:i})=>i),"find"),describe:s(({runStatus:o,seq:i,worker:a,losses:d})=>({rule:"the lease of its claim has lapsed: judge the loss",before:`${o}, delivery ${i} claimed by ${a}, losses ${d}`}),"describe"),repair:s(async(o,i)=>{let a=o.map(c=>({...c,repair:Ie(r,c)})),{judged:d,unwritten:u}=await __(a,t,Gs(i)),l=new Set(d.map(({runId:c})=>c));return o.map(({runId:c})=>u.has(c)?{kind:"failed",reason:"the codec could not write why it ends"}:l.has(c)?Q:J)},"repair")};return r}s(g_,"reanimationPass");async function h_(t,e){let n=[...new Set(t)],{found:r}=await e.ledger.deliveries.lapsed({limit:n.length,owners:n});r.length!==0&&(await e.faults("reanimation.after-select",`${r.length} lapsed`),await __(r,e))}s(h_,"reanimate");async function __(t,e,n){let{ledger:r,publisher:o,faults:i,metrics:a,log:d,settings:u}=e,l=await Promise.all(t.map(h=>MC(h,e,n))),c=t.flatMap((h,b)=>{let E=l[b];return E===void 0?[]:[{...h,...E}]}),m=await r.deliveries.settleLost(c,u);await i("reanimation.after-judgement",`${m.length} judged`),m.length>0&&a.record("WorkersLost",m.length);for(let{runId:h,status:b,enqueueSeq:E}of m)d.warn("a worker was lost",{runId:h,status:b,enqueueSeq:E});let f=m.filter(h=>h.status==="QUEUED");await Promise.all(f.map(h=>o.publish(h)));let p=t.filter((h,b)=>l[b]===void 0);return{judged:m,unwritten:new Set(p.map(({runId:h})=>h))}}s(__,"judge");async function MC(t,e,n){if(t.onWorkerLoss==="resume"&&t.losses+1<e.settings.maxLosses)return{errorText:"",errorDigest:""};let o={code:"ghoul_lost",name:"Lost",message:t.onWorkerLoss==="fail"?`the worker of delivery ${t.seq} was lost, and the workflow does not resume`:`the worker of delivery ${t.seq} was lost, and the run has used up its losses (${t.losses+1})`};return Hn(t,o,e,n)}s(MC,"failureOf");import{setTimeout as jC}from"node:timers/promises";async function y_(t,e){let{ledger:n,log:r,draining:o,chance:i,settings:a}=e,d={chance:i,mayGoOn:s(()=>!o.aborted,"mayGoOn"),onPause:s(()=>{},"onPause")};try{await jC(a.lateStatementMs,void 0,{signal:o});let u=await we(()=>n.deliveries.taken(t),d);for(let l of u){for(let f=0;f<2;f+=1)await we(()=>n.items.acknowledgeWorker(l),d);let{runId:c,seq:m}=l;r.warn("a claim whose answer was lost had been made; nothing of it acts",{runId:c,enqueueSeq:m})}}catch(u){r.warn("it could not be said that claims without an answer are over",{error:v(u)})}}s(y_,"disown");var Us=class{static{s(this,"Heartbeat")}#e;#t=new Set;#n;#r;#o;#s;#d;constructor(e,n){this.#e=e,this.#n=n,this.#r=n}start(e){for(let r of e)this.#t.add(r);if(this.#t.size===0)return;let n=Math.max(10,Math.min(this.#e.beatMs,this.#e.leaseMs/10));this.#o=setInterval(()=>this.#m(),n),this.#d=this.#l([...this.#t])}remove(e){this.#t.delete(e),this.#t.size===0&&this.#i()}async stop(){this.#i(),this.#t.clear(),await this.#s,await this.#d}#i(){clearInterval(this.#o),this.#o=void 0}#u(){return{monotonicMs:this.#e.clock.monotonicMs(),wallMs:this.#e.clock.wallMs()}}#m(){let e=this.#u(),{leaseMs:n,beatMs:r,leaseHeld:o}=this.#e;if(!o&&w_(this.#n,e)>n*.9){this.#c("its own lease could not be extended in time");return}this.#s!==void 0||w_(this.#r,e)<r||(this.#r=e,this.#s=this.#a(e).finally(()=>{this.#s=void 0}))}async#a(e){let{ledger:n,faults:r,leaseMs:o,log:i}=this.#e,a=[...this.#t];try{await r("worker.before-beat",`${a.length} claims`);let d=await n.deliveries.beatIfClaimed(a.map(c=>c.claim),o/1e3);this.#n=e;let u=a.filter(c=>d.has(b_(c)));for(let c of a)u.includes(c)||this.#f(c,"the ledger has given it to nobody or to another");for(let c of u)d.get(b_(c))?.paused===!0&&c.pause();let l=this.#d;this.#d=Promise.resolve(l).then(()=>this.#l(u))}catch(d){i.warn("a heartbeat failed",{claims:a.length,error:v(d)})}}async#l(e){let{queue:n,queueName:r,leaseMs:o,log:i}=this.#e,a=e.filter(d=>this.#t.has(d)).flatMap(d=>d.receiptHandles);if(a.length!==0)try{let d=await n.changeVisibilities(r,a,Math.ceil(o/1e3));d.length>0&&i.warn("the visibility of messages could not be extended",{messages:d.length})}catch(d){i.warn("the visibility of messages could not be extended",{error:v(d)})}}#c(e){for(let n of this.#t)this.#f(n,e)}#f(e,n){this.#t.delete(e)&&(this.#e.log.warn("a claim is fenced",{runId:e.claim.runId,enqueueSeq:e.claim.seq,why:n}),e.fence(n),this.#t.size===0&&this.#i())}};function w_(t,e){return Math.max(e.monotonicMs-t.monotonicMs,e.wallMs-t.wallMs)}s(w_,"since");function b_({claim:t}){return`${t.runId}:${t.seq}`}s(b_,"keyOf");var zC=500;async function k_(t,{ledger:e,log:n}){if(t.length!==0)try{await re(e.skips.note(t),zC)}catch(r){n.warn("what was skipped could not be kept for people",{count:t.length,error:v(r)})}}s(k_,"noteSkips");import{SpanKind as E_,SpanStatusCode as x_}from"@opentelemetry/api";function v_(t,e,n,r){let o={"messaging.system":"aws_sqs","messaging.destination.name":t,messages:e};return et("ghouls.work",{kind:E_.CONSUMER,parent:null,attributes:o},i=>{let a=nn(i);return n(a===void 0?FC:(d,u)=>GC(d,u,a,r))})}s(v_,"tracedBatch");var FC=s(async(t,e)=>{await Promise.all(t.map(e))},"untraced");async function GC(t,e,n,r){let o=await UC(t,r);await Promise.all(t.map(i=>{let{madeIn:a,hopBefore:d}=o.get(i.runId)??{madeIn:null,hopBefore:null},u=i.cause==="admitted",l={kind:E_.CONSUMER,parent:u?a:null,links:u?[n]:[d,n],attributes:{"ghouls.tenant_id":i.tenantId,"ghouls.run_id":i.runId,"ghouls.enqueue_seq":i.seq,"ghouls.cause":i.cause,"ghouls.workflow":i.workflow.name,"ghouls.workflow_version":i.workflow.version}};return et("ghouls.hop",l,async c=>{let m=WC(i,c,r);BC(c,await e(i)),await m})}))}s(GC,"carryEach");async function UC(t,{ledger:e,log:n}){try{return t.length===0?new Map:await e.traces.ofClaims(t)}catch(r){return n.warn("the traces of a batch could not be read",{error:v(r)}),new Map}}s(UC,"originsOf");async function WC(t,e,{ledger:n,log:r}){try{await n.traces.markHop(t,nn(e)??"")}catch(o){r.warn("the trace of a hop could not be kept",{runId:t.runId,error:v(o)})}}s(WC,"mark");function BC(t,e){let n=e.kind==="settled"||e.kind==="parked"?e.status:e.kind;t.setAttribute("ghouls.outcome",n),e.kind==="settled"&&e.code!==void 0?t.setStatus({code:x_.ERROR,message:Te(e.code)}):e.kind==="unknown"&&t.setStatus({code:x_.ERROR,message:v(e.error)})}s(BC,"say");async function S_(t,e,n){let r=p_(t,e),o=[],i=new Map;for(let c of t){let m=yt(c.body);if(m===void 0)continue;let f=i.get(pt(m));f===void 0?i.set(pt(m),{...m,receiptHandles:[c.receiptHandle]}):f.receiptHandles.push(c.receiptHandle)}let a=v_(n.queue,t.length,c=>KC(i,o,c,e,n),e),[d,u]=await Promise.all([a,r]),l=await Promise.all(t.map(async c=>{let m=u.get(c.messageId);if(m!==void 0)return m.retryInSeconds!==void 0&&await I_(c,m.retryInSeconds,e,n),{messageId:c.messageId,done:m.done,reason:m.reason};let f=yt(c.body);if(f===void 0)return e.log.error("a message is no delivery; it stays until the dead-letter queue takes it",{messageId:c.messageId,bytes:Buffer.byteLength(c.body)}),{messageId:c.messageId,done:!1,reason:"poison"};let p=d.get(pt(f))??{done:!1,reason:"unknown_outcome"};return p.retryInSeconds!==void 0&&await I_(c,p.retryInSeconds,e,n),{messageId:c.messageId,done:p.done,reason:p.reason}}));return await k_(o,e),l}s(S_,"work");async function KC(t,e,n,r,o){let i=[...t.values()];if(i.length===0)return new Map;if(r.draining.aborted)return new Map(i.map(f=>[pt(f),{done:!1,reason:"draining",retryInSeconds:1}]));let a=new Map,d={monotonicMs:r.clock.monotonicMs(),wallMs:r.clock.wallMs()},u=i.map(f=>({...f,token:r.ids.next()})),l;try{l=await YC(u,r,o)}catch(f){o.endsByForce||y_(u,r),r.log.error("a batch could not be claimed; its messages go back",{count:i.length,error:v(f)});let p={done:!1,reason:"unclaimed",retryInSeconds:HC};return new Map(i.map(h=>[pt(h),p]))}let c={...r,copies:r.copies??new Es(r)};for(let[f,p]of await JC(l,t,d,n,c,o)){let h=QC(f,p,r);h!==void 0&&a.set(pt({runId:f.runId,enqueueSeq:f.seq}),h)}let m=i.filter(f=>!a.has(pt(f)));for(let[f,p]of await XC(m,e,r))a.set(f,p);return a}s(KC,"carryAll");var HC=10;async function JC(t,e,n,r,o,i){let{limitMs:a,remainingMs:d,endsByForce:u}=i,{leaseMs:l,beatMs:c,leaseHeld:m}=o.settings,f=new Us({...o,leaseMs:l,beatMs:c,leaseHeld:m,queueName:i.queue},n),p=t.map(M=>VC(M,e.get(pt({runId:M.runId,enqueueSeq:M.seq}))));f.start(p.map(M=>M.beating));let h=s(()=>p.forEach(M=>M.drain()),"drain");o.draining.addEventListener("abort",h,{once:!0}),o.draining.aborted&&h();let b=[],E=new Map(p.map(M=>[M.claim,M])),A=r(t,async M=>{let j=E.get(M);if(j===void 0)throw new TypeError("a claim is carried that this batch does not have");let H={limitMs:a,remainingMs:d,endsByForce:u,claimedAtMs:n.monotonicMs},me=await f_(M,o,H,{onHop:j.onHop});return b.push([M,me]),f.remove(j.beating),me}),F=u?await ce(A,d()-o.settings.settleReserveMs/4):await A.then(()=>!0);return o.draining.removeEventListener("abort",h),await f.stop(),F||o.exit(`${t.length-b.length} steps are in flight at the end of the invocation`),b}s(JC,"carryBatch");function VC(t,e){let n,r,o=s((d,u)=>u==="fence"?d.fence():d.drain(u),"tell"),i=s(d=>{r=r==="fence"?r:d,n!==void 0&&o(n,d)},"say"),a={claim:t,receiptHandles:e?.receiptHandles??[],fence:s(()=>i("fence"),"fence"),pause:s(()=>i("pause"),"pause")};return{claim:t,beating:a,drain:s(()=>i("drain"),"drain"),onHop:s(d=>{n=d,r!==void 0&&o(d,r)},"onHop")}}s(VC,"carriedRun");function YC(t,e,n){let r=Math.max(1,n.remainingMs()/1e3);return e.ledger.deliveries.claimIfDue(t,{worker:e.worker,leaseSeconds:e.settings.leaseMs/1e3,actsForSeconds:n.endsByForce?r+e.settings.actsMarginSeconds:null})}s(YC,"claim");function QC(t,e,n){let r=n.logFor(t);switch(e.kind){case"settled":return pe(e.status)&&n.metrics.record("RunsSettled",1,e.status),r[e.code===void 0?"info":"warn"]("run settled",{status:e.status,workflow:t.workflow.name,...e.code===void 0?{}:{code:e.code,fix:"`ghouls show` tells why"}}),{done:!0,reason:e.status};case"handed_over":return r.info("the run goes on in another hop",{why:e.why}),{done:!0,reason:"handed_over"};case"parked":return r.info("the run waits",{status:e.status}),{done:!0,reason:e.status};case"contained":return r.info("a contain delivery has ended",{outcome:e.outcome}),{done:!0,reason:`contain_${e.outcome}`};case"quarantined":return r.error("run quarantined"),{done:!0,reason:"quarantined"};case"fenced":r.warn("the claim was taken away; nothing more was written");return;case"unknown":return r.error("the hop's outcome is unknown; the claim stays as it is",{error:v(e.error)}),{done:!1,reason:"unknown_outcome"}}}s(QC,"verdictOf");async function XC(t,e,n){if(t.length===0)return[];try{let r=await n.ledger.deliveries.unclaimed(t),o=[...r].filter(([,d])=>d.deliveryStatus==="CLAIMED"&&(d.leaseEndsInSeconds??1)<=0);o.length>0&&(await h_(o.map(([d])=>d.slice(0,d.indexOf(":"))),n),r=await n.ledger.deliveries.unclaimed(t));let i=new Map(t.map(d=>[d,er(r.get(pt(d)))])),a=t.filter(d=>i.get(d)?.reason==="paused");return a.length>0&&await n.ledger.deliveries.markSkippedAsPaused(a),[...i].map(([d,u])=>{let{runId:l,enqueueSeq:c}=d;return n.metrics.record("DeliveriesSkipped",1,u.reason),e.push({runId:l,enqueueSeq:c,reason:u.reason}),n.log.info("a delivery was skipped",{runId:l,enqueueSeq:c,reason:u.reason}),[pt(d),u.deleteMessage?{done:!0,reason:u.reason}:{done:!1,reason:u.reason,retryInSeconds:u.retryInSeconds}]})}catch(r){return n.log.error("skipped deliveries could not be read; their messages go back",{error:v(r)}),[]}}s(XC,"explain");async function I_(t,e,n,r){try{await n.queue.changeVisibility(r.queue,t.receiptHandle,e)}catch(o){n.log.warn("a message's visibility could not be changed",{messageId:t.messageId,error:v(o)})}}s(I_,"putBack");function pt(t){return`${t.runId}:${t.enqueueSeq}`}s(pt,"keyOf");function gt({micros:t,id:e}){return Buffer.from(`${t} ${e}`).toString("base64url")}s(gt,"cursorOf");function ht(t){let[e="",n=""]=Buffer.from(t,"base64url").toString().split(" ");if(!/^\d{1,18}$/.test(e)||!V(n))throw new x("invalid_request","the cursor is none of ours",{fix:"Take nextCursor of the page before, or none for the first page."});return{micros:e,id:n}}s(ht,"positionOf");async function A_(t,e,n,r){if(!th(e))throw Ws();let o=cs(t,t?.callbackDigest,e);if(t===null||!o||t.callbackExpired)throw Ws();return Ur(()=>ZC(t,e,n,r))}s(A_,"takeReport");async function ZC(t,e,n,r){let{answer:o,outcome:i}=await Bn(t,n,r.codec);if(o.state==="unknown")throw await eD(t,o.why,r),new x("invalid_request",o.why,{fix:"Report a result that JSON can give back unchanged."});let a,d,u=await r.ledger.attempts.change(t,l=>{if(a=d=void 0,!cs(l,l.callbackDigest,e)||l.callbackExpired?a=Ws():l.closedAt!==null&&([a,d]=[oD(l.status),l]),a===void 0)return tD(l,o,i)},r.settings);if(d!==void 0&&await Ed(d,o,i,r),a!==void 0)throw a;if(u===null)throw Ws();return await St(t,u,r),u.status}s(ZC,"record");async function eD(t,e,n){let r=await n.ledger.attempts.change(t,o=>o.token!==t.token||o.closedAt!==null||o.status==="UNCERTAIN"?void 0:{status:"UNCERTAIN",why:`it reported what cannot be kept: ${e}`,by:"callback",acknowledged:!0,missed:!1,nextLookSeconds:mt(o,"UNCERTAIN")},n.settings);await St(t,r,n)}s(eD,"keepUnreadable");function tD(t,e,n){let r=e.state==="accepted"||e.state==="running",o=vt(t);if(r&&o.demand==="no")return rD(t);let i=zt(o,e),a=i.kind==="move"&&!r;if(e.state==="cancelled"&&i.kind==="keep")return nD(t,i.why);let d=xd(t,i,e,{outcome:n,by:"callback",usesCallback:a});return a?d:{...d,nextLookSeconds:mt(t,d.status)}}s(tD,"changeByReport");function nD(t,e){let n=t.traits.lookup==="none"?"UNCERTAIN":t.status,r=mt({...t,looks:0},"UNCERTAIN");return{status:n,why:e,by:"callback",acknowledged:!0,missed:!1,nextLookSeconds:r}}s(nD,"cancelledEarly");function rD({status:t}){return{status:t,by:"callback",acknowledged:!0,missed:!1,onlyAlive:!0,nextLookSeconds:0}}s(rD,"aliveStill");function Ws(){return new x("unauthenticated","the callback carries no token of this attempt, or the token's time is over",{fix:"Send the token that came with the submission, in the header Ghouls-Callback-Token."})}s(Ws,"notAuthentic");function oD(t){return new x("attempt_settled",`the attempt is ${t} already`,{fix:"Nothing is to be done: a report is taken once."})}s(oD,"settled");var R_={publisherGraceSeconds:15};function O_(t){let{ledger:e,codec:n,publisher:r,faults:o,log:i}=t,a={ledger:e,codec:n,publisher:{publish:s(d=>Dt(r,d),"publish")},log:i,settings:R_};return{get:s(async(d,u)=>{if(!V(u))return;let l=await e.attempts.get({tenantId:d,attemptId:u});return l===null?void 0:Ur(()=>iD(l,n))},"get"),list:s(async(d,u,l)=>{let{attempts:c,next:m}=await e.attempts.page(d,u,{limit:l.limit,...l.cursor===void 0?{}:{after:ht(l.cursor)}});return{attempts:c.map(C_),nextCursor:m===void 0?null:gt(m)}},"list"),report:s(async(d,u,l)=>{let c=V(d)?await e.attempts.forCallback(d):null,m=await A_(c,u,l,a);return await o("callbacks.after-commit",d),{attemptId:d,status:m}},"report"),resolve:s((d,u,l)=>Ur(async()=>{let{tenantId:c,subject:m}=d,f=V(u)?await e.attempts.get({tenantId:c,attemptId:u}):null;if(f===null)throw aD();let{answer:p,outcome:h}=await Bn(f,sD(l),n);if(p.state==="unknown")throw new x("invalid_request",p.why,{fix:"Give a result that JSON can hold."});let b=`operator ${m}`,E=f,A=await e.attempts.change(f,F=>(E=F,F.status!=="UNCERTAIN"||!F.late?void 0:{status:$_[l.outcome],by:b,acknowledged:!1,missed:!1,nextLookSeconds:0,...h&&{report:h.report}}),R_,{actor:m,reason:l.reason});if(A===null){let{status:F,closedBy:M,runId:j}=E;if(F==="UNCERTAIN")throw Ad();if(M===b&&F===$_[l.outcome]&&await Ls(E,n)===h?.canonical)return{attemptId:u,runId:j,status:F,resumed:!1};throw new x("attempt_settled",`the attempt is ${F}: only one that is UNCERTAIN can be settled by a word`,{fix:"GET /v1/attempts/<id> has its state; cancel its run to have the job cancelled."})}return await St(f,A,a),{attemptId:u,runId:f.runId,status:A.status,resumed:A.resumption!==null}}),"resolve")}}s(O_,"createAttempts");function Ad(){return new x("attempt_under_way","a worker may still be sending the job to its service",{fix:"Wait, ask the service again after that, and then say how the job has ended."})}s(Ad,"underWay");var $_={succeeded:"SUCCEEDED",failed:"FAILED",cancelled:"CANCELLED"};function sD(t){switch(t.outcome){case"succeeded":return{state:"succeeded",result:t.result??null};case"failed":return{state:"failed",error:t.error??{code:"operator",message:t.reason}};case"cancelled":return{state:"cancelled"}}}s(sD,"answerOf");function C_(t){let e=s(n=>n?.toISOString()??null,"iso");return{attemptId:t.attemptId,runId:t.runId,workflow:t.workflow,name:t.name,status:t.status,service:t.service,executor:{adapter:t.adapter,version:t.adapterVersion,digest:t.serviceDigest},digest:t.requestDigest,idempotencyKey:t.idempotencyKey,submissions:t.submissions,uncertain:t.uncertainReason,trouble:t.trouble===null?null:{why:t.trouble.why,at:t.trouble.at.toISOString()},cancelling:t.cancelReason,contradiction:t.contradiction,createdAt:t.createdAt.toISOString(),acknowledgedAt:e(t.acknowledgedAt),heartbeatAt:e(t.heartbeatAt),deadlineAt:e(t.deadlineAt),nextLookAt:e(t.nextLookAt),closedAt:e(t.closedAt),closedBy:t.closedBy}}s(C_,"summaryOf");async function iD(t,e){let{tenantId:n,runId:r,requestText:o,storedDigest:i}=t,a=o===""?"null":await Ce(o,i,"a job",l=>e.decode(l,{tenantId:n,runId:r,kind:"job"})),d=await Ls(t,e),u=d===void 0?null:JSON.parse(d);return{...C_(t),request:JSON.parse(a),result:t.status==="SUCCEEDED"?u:null,error:t.status==="FAILED"?u:null}}s(iD,"viewOf");function aD(){return new x("not_found","there is no such attempt",{fix:"GET /v1/attempts lists those that this token may see."})}s(aD,"absent");function q_({ledger:t,codec:e,publisher:n,faults:r}){let o=s(async a=>{let[d,u]=await Promise.all([lD(a,e),t.consents.decisions(a)]);return{...N_(a),detail:d.detail,decisions:await cD(a,u,e)}},"viewOf"),i=s(async a=>{let d=await t.consents.decisions(a);return{...N_(a),decisions:d.map(({by:u,verdict:l,at:c})=>({by:u,verdict:l,at:c.toISOString()})),problem:a.intact?null:`its ${T_}`}},"summaryOf");return{get:s(async(a,d)=>{if(!V(d))return;let u=await t.consents.get({tenantId:a,consentId:d});return u===null?void 0:o(u)},"get"),list:s(async(a,d,u)=>P_(await t.consents.page(a,d,D_(u)),i),"list"),inbox:s(async(a,d)=>{let u={subject:a.subject,named:mo(a)};return P_(await t.consents.inbox(a.tenantId,u,D_(d)),i)},"inbox"),decide:s(async(a,d,u)=>{let l=V(d)?await dD({ledger:t,codec:e},a,d,u):null;if(l===null)throw mD();await r("consents.after-commit",d);let{judgement:c,consent:m,resumption:f}=l;return f!==null&&await Dt(n,f),uD(c,m),{consentId:d,runId:m.runId,status:m.status,repeated:c.kind==="repeated",resumed:f!==null}},"decide")}}s(q_,"createConsents");var D_=s(({limit:t,cursor:e})=>({limit:t,...e===void 0?{}:{after:ht(e)}}),"placeOf");async function P_({consents:t,next:e},n){return{consents:await Promise.all(t.map(n)),nextCursor:e===void 0?null:gt(e)}}s(P_,"pageOf");async function dD({ledger:t,codec:e},n,r,{verdict:o,digest:i,comment:a}){let{tenantId:d,subject:u,roles:l}=n,c=await t.consents.get({tenantId:d,consentId:r});if(c===null)return null;let m=a===void 0?null:await e.encode(a,{tenantId:d,runId:c.runId,kind:"comment"});return t.consents.decide({tenantId:d,consentId:r},{subject:u,roles:l,verdict:o,digest:i,commentText:m,commentDigest:m===null?null:q(m)},{publisherGraceSeconds:15})}s(dD,"decide");function uD(t,e){switch(t.kind){case"counts":case"repeated":return;case"not_a_decider":throw new x("not_a_decider","this consent is for others to decide",{fix:`It is decided by ${e.deciders.join(", ")}.`});case"requester":throw new x("not_a_decider","whoever asked for the run may not decide its consent",{fix:"Let another decider decide, or set requesterMayDecide in the workflow."});case"changed":throw new x("consent_changed","the decision names another request than the one that is open",{fix:`Show the consent again; its digest is ${e.requestDigest}.`});case"contradicts":throw new x("consent_closed",`you have said "${t.verdict}" before, and a word stands`,{fix:"Cancel the run, or let the other deciders decide."});case"expired":throw new x("consent_closed",`the consent's time is over: it is ${e.status}`,{fix:"Ask for the run again."});case"closed":throw new x("consent_closed",`the consent is ${t.status} already, by ${t.by}`,{fix:"GET /v1/consents/<id> has all decisions."})}}s(uD,"refuseWhatDidNotCount");var T_="request disagrees with its digest";async function lD(t,e){let{tenantId:n,runId:r,requestText:o,storedDigest:i}=t;if(o==="")return{detail:null};if(q(o)!==i)throw new x("integrity_fault",`of consent ${t.consentId} the ${T_}`);let a=await e.decode(o,{tenantId:n,runId:r,kind:"consent"});return JSON.parse(a)}s(lD,"requestOf");async function cD({tenantId:t,runId:e},n,r){return Promise.all(n.map(async({by:o,verdict:i,at:a,commentText:d})=>({by:o,verdict:i,at:a.toISOString(),comment:d===null?null:await r.decode(d,{tenantId:t,runId:e,kind:"comment"})})))}s(cD,"decodedDecisions");function N_(t){return{consentId:t.consentId,runId:t.runId,workflow:t.workflow,title:t.title,status:t.status,digest:t.requestDigest,deciders:[...t.deciders],quorum:t.quorum,requestedBy:t.requestedBy,requesterMayDecide:t.requesterMayDecide,onExpiry:t.onExpiry,source:t.source,createdAt:t.createdAt.toISOString(),expiresAt:t.expiresAt?.toISOString()??null,closedAt:t.closedAt?.toISOString()??null,closedBy:t.closedBy}}s(N_,"shownOf");function L_(t){return B("consent").includes(t)}s(L_,"isConsentStatus");function mD(){return new x("not_found","there is no such consent",{fix:"GET /v1/consents lists those that this token may see."})}s(mD,"absent");async function j_(t,e,{filter:n,reason:r,dryRun:o=!1,limit:i=st.MAX_CANCEL,cursor:a}){let{ledger:d,settings:u}=t,{tenantId:l,subject:c}=e,{admittedAfter:m,admittedBefore:f,...p}=n,h={...p,...m===void 0?{}:{after:new Date(m)},...f===void 0?{}:{before:new Date(f)}},b={limit:i,...a===void 0?{}:{cursor:a}},{runs:E,nextCursor:A}=await d.runs.matching(l,h,b),F=[];for(let j of E){if(o||X.includes(j.status)){F.push(M_(j,j.status,!X.includes(j.status)));continue}let H={tenantId:l,runId:j.runId},me=await d.runs.cancel(H,{actor:c,reason:r},u.actsMarginSeconds);me!==null&&F.push(M_(j,me.status,me.cancelled))}let M=s(j=>F.filter(H=>H.outcome===j).length,"count");return{dryRun:o,cancelled:M("cancelled"),ending:M("ending"),ended:M("ended"),runs:F,nextCursor:A}}s(j_,"cancelMatching");function M_({runId:t,workflow:e},n,r){let o=r?"cancelled":pe(n)?"ended":"ending";return{runId:t,workflow:e,outcome:o,status:n}}s(M_,"told");function Rd(t){return t.kind==="worker"?`worker-${t.key}`:`${t.kind}-${q(t.key).slice(0,12)}`}s(Rd,"itemId");function z_(t){return{id:Rd(t),kind:t.kind,subject:t.kind==="worker"||t.kind==="child"?t.worker:fD(t.key),enqueueSeq:t.seq,overAt:t.overAt?.toISOString()??null,createdAt:t.createdAt.toISOString(),tries:t.tries,lastError:t.lastError,acknowledgedAt:t.acknowledgedAt?.toISOString()??null,acknowledgedBy:t.acknowledgedBy,acknowledgement:t.acknowledgement}}s(z_,"itemView");function fD(t){let[,e,,n,r]=JSON.parse(t),o=r===1?"":` (use ${r})`;return`${n}${o}${e===""?"":` in ${e}`}`}s(fD,"callOf");function U_({ledger:t,ids:e}){return{list:s(async n=>({pauses:(await t.pauses.ofTenant(n)).map(Vr)}),"list"),set:s(async(n,r)=>{r.scope==="all"&&F_(n);let{created:o,pause:i}=await t.pauses.set({pauseId:e.next(),scope:r.scope,tenantId:r.scope==="all"?null:n.tenantId,workflow:r.scope==="workflow"?r.workflow:null,actor:n.subject,reason:r.reason});return{created:o,pause:Vr(i)}},"set"),lift:s(async(n,r,o)=>{let i=V(r)?await t.pauses.get(r):null;if(i===null||i.tenantId!==null&&i.tenantId!==n.tenantId)throw G_();i.tenantId===null&&F_(n);let a=await t.pauses.lift(r,{actor:n.subject,reason:o});if(a===null)throw G_();return{lifted:a.lifted,pause:Vr(a.pause)}},"lift")}}s(U_,"createPauses");function F_({permissions:t}){if(!t.includes("deployment:pause"))throw new x("forbidden","This needs the permission deployment:pause, which the token does not have: it reaches beyond your tenant.",{fix:"Name your tenant or a workflow of it; or use a key that has it: `ghouls keys create --tenant <name> --subject <name> --role operator --permission deployment:pause`."})}s(F_,"mustReachAll");function Vr({pauseId:t,scope:e,tenantId:n,workflow:r,by:o,reason:i,at:a}){return{pauseId:t,scope:e,tenantId:n,workflow:r,by:o,reason:i,at:a.toISOString()}}s(Vr,"pauseView");function Bs(t,e){if(!Ge.includes(t.status))return[];let{tenantId:n,workflow:r,pause:o}=t,i=o===null?[]:[{...o,scope:"run",pauseId:null}],a=e.filter(d=>Si(d,{tenantId:n,workflow:r.name}));return[...i,...a].map(({scope:d,pauseId:u,by:l,reason:c,at:m})=>({scope:d,pauseId:u,by:l,reason:c,at:m.toISOString()}))}s(Bs,"heldBy");function G_(){return new x("not_found","There is no such pause.",{fix:"GET /v1/pauses has the pauses that this token may see."})}s(G_,"absent");function W_({ledger:t,publisher:e,settings:n,closeChannel:r}){let o=s(async(a,d)=>(await t.items.ofRun(a)).find(u=>u.acknowledgedAt===null&&Rd(u)===d),"openItem"),i=s(async a=>{let[d,u]=await Promise.all([t.runs.get(a),t.pauses.ofTenant(a.tenantId)]);if(d===null)throw ze();return Bs(d,u)},"pausesOf");return{cancel:s(async(a,d,u)=>{if(!V(d))throw ze();let l={tenantId:a.tenantId,runId:d},c=await t.runs.cancel(l,{actor:a.subject,reason:u},n.actsMarginSeconds);if(c===null)throw ze();return pe(c.status)&&await r?.(l),{runId:d,cancelled:c.cancelled,status:c.status}},"cancel"),cancelMatching:s((a,d)=>j_({ledger:t,settings:n},a,d),"cancelMatching"),clear:s(async(a,d,u)=>{if(!V(d))throw ze();let l=await t.runs.clear({tenantId:a.tenantId,runId:d},{actor:a.subject,reason:u},15);if(l===null)throw ze();return l.resumption!==null&&await e.publish(l.resumption),{runId:d,cleared:l.cleared,status:l.status}},"clear"),pause:s(async(a,d,u)=>{if(!V(d))throw ze();let l={tenantId:a.tenantId,runId:d},c=await t.runs.pause(l,{actor:a.subject,reason:u});if(c===null)throw ze();return{runId:d,...c,pauses:await i(l)}},"pause"),unpause:s(async(a,d,u)=>{if(!V(d))throw ze();let l={tenantId:a.tenantId,runId:d},c=await t.runs.unpause(l,{actor:a.subject,reason:u});if(c===null)throw ze();let{unpaused:m,status:f,resumption:p}=c;return p!==null&&await e.publish(p),{runId:d,unpaused:m,status:f,pauses:await i(l)}},"unpause"),resolve:s(async(a,d,u,l)=>{if(!V(d))throw ze();let c={tenantId:a.tenantId,runId:d},m=await o(c,u);if(m===void 0)throw ze();let{kind:f,key:p}=m;if(f==="child")throw pD(p);let h=await t.items.acknowledge(c,{kind:f,key:p,by:"operator",words:l},{actor:a.subject,reason:l});if(h===null)throw f==="attempt"&&await o(c,u)!==void 0?Ad():ze();let b=h.ended??(await t.runs.get(c))?.status;if(b===void 0)throw ze();return pe(b)&&await r?.(c),{runId:d,item:u,openItems:h.openItems,status:b}},"resolve")}}s(W_,"createControl");function pD(t){return new x("child_open",`child ${t} has not ended, and no word can say that it has`,{fix:`Cancel it, or settle its own items: \`ghouls show ${t}\` lists them.`})}s(pD,"childOpen");function ze(){return new x("not_found","there is no such run, or no such open item of it",{fix:"Check the ids: `ghouls show <run id>` lists the items of a run."})}s(ze,"absent");var gD="0".repeat(64);function B_({ledger:t,log:e}){return async n=>{let r=di(n);if(r===void 0)return;let o=await t.keys.byId(r.keyId),i=jt(r.digest,o?.digest??gD);if(o===null||!i||o.expired||o.revokedAt!==null)return;o.useIsDue&&await hD(o,t,e);let{tenantId:a,subject:d,roles:u,permissions:l}=o;return{tenantId:a,subject:d,roles:u,permissions:l.filter(Ai)}}}s(B_,"createKeyAuthenticator");async function hD(t,e,n){try{await e.keys.markUsed(t)}catch(r){n.warn("the use of a key could not be recorded",{keyId:t.keyId,error:v(r)})}}s(hD,"markUsed");function H_(t){return{check:s(async({tenantId:e,subject:n,roles:r,required:o})=>{let i=o.filter(u=>!r.includes(u));if(i.length>0)return{outcome:"revoked",reason:`it was admitted without the role ${K_(i)}: submit it with a key that has that`};let a=await t.keys.rolesOfSubject({tenantId:e,subject:n});if(a===null)return{outcome:"revoked",reason:"it has no key that is neither revoked nor expired"};let d=o.filter(u=>!a.includes(u));return d.length===0?{outcome:"valid"}:{outcome:"revoked",reason:`no usable key of it has the role ${K_(d)}`}},"check")}}s(H_,"createKeyAuthority");function K_(t){return t.map(e=>`"${e}"`).join(", ")}s(K_,"inWords");function J_(t){return{acquire:s(async({tenantId:e,name:n,subject:r,roles:o})=>{let i=[_D(r),...o.map(d=>`role:${d}`)],a=await t.grants.live({tenantId:e,name:n},i);if(a===null){let d=i.join(", ");return{outcome:"refused",reason:`in tenant "${e}" no grant that is neither revoked nor expired names ${d}; \`ghouls grants create ${n} --tenant ${e} --holder ${i[0]}\` makes one`}}return{outcome:"granted",...a.expiresAt===null?{}:{expiresAt:a.expiresAt}}},"acquire")}}s(J_,"createLedgerGrants");function _D(t){return t.startsWith("user:")?t:`user:${t}`}s(_D,"holderOf");var V_=60,yD=250,wD=1048576,bD=8*1048576,Y_=131072,kD=1e3,xD=2,Q_=2e3,Ks=class{static{s(this,"LiveChannel")}#e;#t=new Map;#n=Number.NEGATIVE_INFINITY;constructor(e){this.#e=e}write({channel:e,chunk:n,...r}){let o=this.#r(r),i=new Date(this.#e.clock.wallMs()).toISOString(),a=Buffer.byteLength(n);if(o.chunkBytes+=a,o.chunkBytes>bD)return o.last+=1,this.#d(o,1,"a hop said too much");this.#o(o,{kind:"chunk",at:i,enqueueSeq:r.enqueueSeq,channel:e,chunk:n},a)}tell(e,n){let r=this.#r(e);return this.#o(r,n,JSON.stringify(n).length),r.last}end(){}async drain(e,n,r){let o=this.#r(e);o.closing="draining";let a=await ce(s(async()=>{for(o.finished=r;o.waiting.length>0||o.writing!==void 0;)await this.#i(o);r&&!o.endIsSaid&&await this.#a(o,Be)},"drained")(),n);o.closing="given up",clearTimeout(o.timer),this.#t.delete($d(e)),a||(this.#d(o,o.waiting.length+o.onItsWay,"no answer in time"),this.#n=this.#e.clock.monotonicMs()+Q_),o.waiting=[],o.lost!==0&&this.#e.log.warn("the live channel has gaps: whoever looks on gets what the ledger has",{runId:e.runId,count:o.lost,error:o.why??"unknown"})}#r(e){let n=this.#t.get($d(e));if(n!==void 0)return n;let{tenantId:r,runId:o,enqueueSeq:i}=e,a={hop:{tenantId:r,runId:o,enqueueSeq:i},last:0,waiting:[],waitingBytes:0,onItsWay:0,chunkBytes:0,lost:0,why:void 0,writing:void 0,timer:void 0,timerMs:0,finished:!1,endIsSaid:!1,closing:"no"};return this.#t.set($d(e),a),a}#o(e,n,r){e.last+=1;let o=r+ED;if(e.waitingBytes+o>wD)return this.#d(e,1,"too much waits");e.waiting.push({number:e.last,event:n,bytes:o}),e.waitingBytes+=o,e.closing==="no"&&e.writing===void 0&&this.#s(e,n.kind==="chunk"||n.kind==="emitted"?V_:yD)}#s(e,n){e.timer!==void 0&&e.timerMs<=n||(clearTimeout(e.timer),e.timer=setTimeout(()=>{this.#i(e)},n),e.timerMs=n)}#d(e,n,r){e.lost+=n,e.why??=r}#i(e){return clearTimeout(e.timer),e.timer=void 0,e.writing??=this.#u(e).finally(()=>{e.writing=void 0,e.waiting.length>0&&e.closing==="no"&&this.#s(e,V_)}),e.writing}async#u(e){do{let{record:n,count:r}=this.#m(e);e.onItsWay=r,n!==void 0&&(await this.#a(e,n)?e.endIsSaid||=n.isLast===!0:e.lost+=r),e.onItsWay=0}while(e.waitingBytes>Y_&&e.closing!=="given up")}#m(e){let[n]=e.waiting;if(n===void 0)return{record:void 0,count:0};let r=0,o=0;for(let{number:c,bytes:m}of e.waiting){if(!(o<kD&&(o===0||r+m<=Y_))||c!==n.number+o)break;r+=m,o+=1}let i=e.waiting.splice(0,o);e.waitingBytes-=r;let{enqueueSeq:a}=e.hop,d=i.map(({event:c})=>c),u=e.finished&&e.waiting.length===0,l={enqueueSeq:a,part:"hop",first:n.number,events:d};return{record:u?{...l,isLast:u}:l,count:o}}async#a(e,n){let{store:r,clock:o}=this.#e;if(o.monotonicMs()<this.#n)return!1;for(let i=1;;i+=1)try{return await r.put(e.hop,n),!0}catch(a){if(e.why??=v(a),i<xD&&e.closing!=="given up")continue;return this.#n=o.monotonicMs()+Q_,!1}}},ED=120,$d=s(({runId:t,enqueueSeq:e})=>`${t}:${e}`,"keyOf");var vD=300;function X_(t){let{store:e,log:n}=t;return async r=>{let{tenantId:o,runId:i}=r,a=e.put({tenantId:o,runId:i},Be).catch(d=>{n.warn("the live channel of a run that has ended could not be closed",{runId:i,error:v(d)})});await ce(a,vD)}}s(X_,"createClosing");var Z_=100;async function ey(t,e,n,{ledger:r,codec:o,log:i}){let a=e.stage===3?yr.number:e.number,d=n===void 0?yr:{seq:n.enqueueSeq,number:n.number},u={seq:e.enqueueSeq,number:a},l=await r.evidence.emitted(t,u,d,Z_),c=s(async m=>{try{return[await ID(t,m,o)]}catch(f){let{runId:p}=t;return i.warn("the copy of an emitted event cannot be read",{runId:p,error:v(f)}),[]}},"read");return{emitted:(await Promise.all(l.map(c))).flat(),more:l.length===Z_}}s(ey,"emittedBetween");async function ID({tenantId:t,runId:e},{seq:n,number:r,call:o,at:i,bodyText:a},d){let[,u=""]=JSON.parse(o),l=JSON.parse(await d.decode(a,{tenantId:t,runId:e,kind:"event"}));return{number:r,event:{kind:"emitted",at:i.toISOString(),enqueueSeq:n,name:u,data:l}}}s(ID,"emittedOf");function ty(t,e){let n=[],r=0;for(let o of t){for(let i=e[r];i!==void 0&&SD(i,o);i=e[r])n.push(i),r+=1;n.push({event:o})}return[...n,...e.slice(r)]}s(ty,"among");function SD({event:t},e){return"enqueueSeq"in e?t.enqueueSeq!==e.enqueueSeq?t.enqueueSeq<e.enqueueSeq:ny(e)||e.kind==="step"&&t.at<e.at:!1}s(SD,"isBefore");var ny=s(({kind:t})=>t==="settled"||t==="fenced","isEnd");function ry({event:t},e){return e.some(n=>"enqueueSeq"in n&&(n.enqueueSeq>t.enqueueSeq||n.enqueueSeq===t.enqueueSeq&&ny(n)))}s(ry,"isOver");function oy({event:t,number:e},n){let r=Ut(t,n);return e!==void 0&&"enqueueSeq"in t&&t.enqueueSeq===r.enqueueSeq?{...r,number:Math.max(r.number,e)}:r}s(oy,"placeBehind");function Hs(t,e,n,r=[]){let o=[{kind:"admitted",at:t.createdAt.toISOString()}];for(let a of e)o.push(...RD(a));for(let a of n)o.push(od(a));for(let{seq:a,reason:d,times:u,firstAt:l,lastAt:c}of r){let[m,f]=[l.toISOString(),c.toISOString()];o.push({kind:"skipped",at:m,lastAt:f,enqueueSeq:a,reason:d,times:u})}t.finishedAt!==null&&o.push({kind:"finished",at:t.finishedAt.toISOString(),status:t.status,errorCode:t.errorCode});let i=s(a=>AD.indexOf(a.kind),"rank");return o.toSorted((a,d)=>a.at===d.at?i(a)-i(d):a.at<d.at?-1:1)}s(Hs,"timelineOf");var AD=["admitted","delivery","published","skipped","claimed","step","worker_ended","fenced","settled","finished"];function RD(t){let{seq:e,cause:n,status:r,publications:o}=t,i=[{kind:"delivery",at:t.createdAt.toISOString(),enqueueSeq:e,cause:n,status:r,dueAt:t.dueAt.toISOString()}];t.publishedAt!==null&&i.push({kind:"published",at:t.publishedAt.toISOString(),enqueueSeq:e,publications:o});let a=t.claimedBy??"unknown";if(t.claimedAt!==null&&i.push({kind:"claimed",at:t.claimedAt.toISOString(),enqueueSeq:e,worker:a,cause:n}),t.workerEndedAt!==null){let d=t.workerEnd??"unknown";i.push({kind:"worker_ended",at:t.workerEndedAt.toISOString(),enqueueSeq:e,worker:a,how:d})}if(t.settledAt!==null&&t.outcome!==null&&i.push({kind:"settled",at:t.settledAt.toISOString(),enqueueSeq:e,outcome:t.outcome}),t.fencedAt!==null){let d=t.fencedWhy??"ended";i.push({kind:"fenced",at:t.fencedAt.toISOString(),enqueueSeq:e,why:d})}return i}s(RD,"ofDelivery");var $D=new Set(["delivery","skipped","worker_ended","finished"]);function sy(t,e){let{enqueueSeq:n,first:r}=t;if(n<e.enqueueSeq)return{kind:"past"};let o=n===e.enqueueSeq,i=n===e.enqueueSeq+1&&e.stage===3;if(t.part==="published")return o&&e.stage>0?{kind:"past"}:o||i?{kind:"next"}:{kind:"missing",lost:!1};if(o&&e.stage===3)return{kind:"past"};if(o&&r+t.events.length-1<=e.number)return{kind:"past"};let a=o?e.number:0;if(r>a+1)return{kind:"missing",lost:!0};let d=iy(t),u=d===void 0||d<=e.ordinal+1;return o&&e.stage>0&&u?{kind:"next"}:{kind:"missing",lost:!1}}s(sy,"judge");function iy({events:t}){for(let e of t)if(e.kind==="step")return e.ordinal}s(iy,"firstStep");function Od(t){let{enqueueSeq:e,part:n,first:r}=t;return{enqueueSeq:e,stage:n==="published"?0:r===1?1:2,number:n==="published"?0:r,ordinal:iy(t)??Number.POSITIVE_INFINITY}}s(Od,"boundOf");function Cd(t,e){let{enqueueSeq:n,part:r,first:o}=t,i=n===e.enqueueSeq,a=Od(t).stage;return r==="published"?{...e,enqueueSeq:n,stage:0,number:0}:{enqueueSeq:n,stage:i&&e.stage>a?e.stage:a,number:Math.max(o-1,i?e.number:0),ordinal:e.ordinal}}s(Cd,"placeBefore");function ay(t,e){let n=[],r=Cd(t,e),o=t.part==="hop"?Math.max(0,r.number-t.first+1):0;for(let a of t.events.slice(o))oo(a,r)||n.push(a),r=Ut(a,r);let i=t.part==="hop"?t.first+t.events.length-1:0;return{events:n,place:{...r,number:i}}}s(ay,"take");function dy(t,e,n){let r=t.filter(i=>!$D.has(i.kind)&&!oo(i,e)&&DD(i,n)),o=r.some(({kind:i})=>i==="claimed"||i==="step");return{events:r,lost:o}}s(dy,"missingOf");var OD=s((t,e)=>t.enqueueSeq===e.enqueueSeq,"sameDelivery"),CD={published:0,claimed:1,settled:3,fenced:3};function DD(t,e){if(e===void 0||t.kind==="admitted")return!0;if(t.kind==="step"){let n=t.enqueueSeq<e.enqueueSeq;return t.ordinal<e.ordinal&&(n||e.stage===2&&OD(t,e))}return!("enqueueSeq"in t)||t.enqueueSeq>e.enqueueSeq?!1:t.enqueueSeq<e.enqueueSeq?!0:(CD[t.kind]??3)<e.stage}s(DD,"isBefore");var Dd=100,PD=1e3,Pd=2e3,ND=6e4,Nd=4e3,uy=200,Jn=class{static{s(this,"Follower")}#e;#t;#n;#r=!1;#o;#s=Dd;#d=Pd;#i=Number.NEGATIVE_INFINITY;#u=!1;#m=!1;#a=!1;constructor(e,n,r){this.#e=e,this.#t=r,this.#r=n===Be,this.#n=n===Be?or:n,this.#o=r.clock.monotonicMs()}get done(){return this.#r}get pauseMs(){return this.#s}async next(){if(this.#r)return[];let e=this.#n.enqueueSeq===0?await this.#l():[],n=[],r=await this.#f();for(let i of r?.records??[])if(n.push(...await this.#g(i)),this.#a)return this.#p([...e,...n]);this.#u||=r?.ended===!0;let o=this.#t.clock.monotonicMs();return n.length>0?this.#c(o):this.#s=Math.min(PD,this.#s*1.5),r?.more===!0?this.#s=0:(this.#u||o>=this.#i)&&n.push(...await this.#w(r===void 0)),[...e,...n]}async#l(){let e=await this.#y();if(e===void 0)return[];let n={kind:"admitted",at:e.createdAt.toISOString()};return this.#n=Ut(n,this.#n),[{id:sr(this.#n),events:[n]}]}#c(e){this.#o=e,this.#s=Dd,this.#d=Pd,this.#i=e+Pd}async#f(){try{return await this.#t.store.read(this.#e,this.#n)}catch(e){if(!this.#m){let n={runId:this.#e.runId,error:v(e)};this.#t.log.warn("the live channel is out of reach; the ledger tells what it has",n)}this.#m=!0;return}}async#g(e){let n=sy(e,this.#n);if(n.kind==="past")return[];let r=n.kind==="next"?[]:await this.#h(Od(e),n.lost,!1);if(this.#a)return r;n.kind==="missing"&&(this.#n=Cd(e,this.#n));let{events:o,place:i}=ay(e,this.#n);return this.#n=i,o.length>0&&r.push({id:sr(i),events:o}),r}#p(e){return this.#s=0,this.#i=Number.NEGATIVE_INFINITY,e}async#h(e,n,r){let o=this.#n,[i,a]=await Promise.all([this.#b(),ey(this.#e,o,e,this.#t)]),{events:d,lost:u}=dy(i,o,e),l=this.#t.clock.wallMs(),c=r?Number.NEGATIVE_INFINITY:l-Nd,m=a.emitted.filter(A=>e!==void 0||ry(A,i)||Date.parse(A.event.at)<=c),f=ty(d,m),p=a.more&&m.length>0&&m.length===a.emitted.length,h=p?f.slice(0,f.findLastIndex(({number:A})=>A!==void 0)+1):f,E=!this.#a&&(n||u||m.length>0)?[{event:{kind:"gap",at:new Date(l).toISOString()}}]:[];return this.#a=p,this.#_([...E,...h])}#_(e){let n=[];for(let r=0;r<e.length;r+=uy){let o=e.slice(r,r+uy);this.#n=o.reduce((i,a)=>oy(a,i),this.#n),n.push({id:sr(this.#n),events:o.map(({event:i})=>i)})}return n}async#b(){let{ledger:e}=this.#t,[n,r,o]=await Promise.all([this.#y(),e.deliveries.ofRun(this.#e),e.journal.outline(this.#e,this.#n.ordinal)]);return n===void 0?[]:Hs(n,r,o)}async#y(){return await this.#t.ledger.runs.progress(this.#e)??void 0}async#w(e){let n=this.#t.clock.monotonicMs();this.#i=n+this.#d,e||(this.#d=Math.min(ND,this.#d*2));let r=await this.#y();if(r===void 0)return[];let o=pe(r.status)?r.finishedAt:null;if(o!==null)return this.#k(r,o,e);let i=this.#n.enqueueSeq<=1&&this.#n.stage===0,a=n-this.#o>=Nd;if(!e&&!i&&!a)return[];let d=await this.#h(void 0,!1,e);return d.length>0&&this.#c(n),this.#a?this.#p(d):d}async#k(e,n,r){let o=e.now.getTime()-n.getTime(),{enqueueSeq:i,stage:a,ordinal:d}=this.#n,{enqueueSeq:u,journalLength:l}=e;if(!(a===3&&i===u&&d>=l)&&!this.#u&&!r&&o<Nd)return this.#s=Dd,this.#i=Number.NEGATIVE_INFINITY,[];let m=[],f=r?void 0:await this.#f();for(let E of f?.records??[])if(m.push(...await this.#g(E)),this.#a)return this.#p(m);if(f?.more===!0)return this.#i=Number.NEGATIVE_INFINITY,m;if(m.push(...await this.#h(void 0,!1,r)),this.#a)return this.#p(m);let{status:p,errorCode:h}=e,b={kind:"finished",at:n.toISOString(),status:p,errorCode:h};return m.push({id:Be,events:[b]}),this.#r=!0,m}};function ly(t){return{follow:s(async(e,n,r)=>{let o=r===void 0||r===""?or:qD(r);if(!V(n))return;let i={tenantId:e,runId:n};if(await t.ledger.runs.progress(i)!==null)return new Jn(i,o,t)},"follow")}}s(ly,"createEvents");function qD(t){if(t===Be)return Be;let e=_i(t);if(e!==void 0)return e;throw new x("invalid_request","this event id is not one of ours",{fix:"Send the id of the last batch unchanged, or none to begin with the first event."})}s(qD,"placeOf");var TD=300,LD=2e3;function cy({store:t,clock:e,log:n}){let r=Number.NEGATIVE_INFINITY,o=s((i,a)=>{r=e.monotonicMs()+LD,n.warn("the live channel could not be opened; whoever looks on gets what the ledger has",{count:i,error:a})},"fail");return async i=>{if(e.monotonicMs()<r)return;let a=new Date(e.wallMs()).toISOString(),d=i.map(({tenantId:l,runId:c,enqueueSeq:m})=>({tenantId:l,runId:c,record:{enqueueSeq:m,part:"published",first:1,events:[{kind:"published",at:a,enqueueSeq:m,publications:1}]}})),u=t.putMany(d).then(l=>l>0&&o(l,"they were not taken"),l=>o(d.length,v(l)));await ce(u,TD)||o(d.length,"no answer in time")}}s(cy,"createOpening");var MD={bytesPerRun:262144,bytes:4194304,endedRuns:32},jD=256,Js=class{static{s(this,"LiveRing")}#e;#t=new Map;#n=new Set;#r=0;constructor(e=MD){this.#e=e}write(e){let{runId:n}=e,r=this.#t.get(n)??{events:[],bytes:0};for(this.#t.delete(n),this.#t.set(n,r),this.#n.delete(n),r.events.push(e),this.#o(r,my(e));r.bytes>this.#e.bytesPerRun;){let o=r.events.shift();if(o===void 0)break;this.#o(r,-my(o))}for(let o of this.#t.keys()){if(this.#r<=this.#e.bytes)break;this.#s(o)}}end({runId:e}){if(!this.#t.has(e))return;this.#n.delete(e),this.#n.add(e);let[n]=this.#n;this.#n.size>this.#e.endedRuns&&n!==void 0&&this.#s(n)}tell(){}drain(){return Promise.resolve()}read(e){return[...this.#t.get(e)?.events??[]]}clear(){for(let e of this.#t.keys())this.#s(e)}#o(e,n){e.bytes+=n,this.#r+=n}#s(e){this.#r-=this.#t.get(e)?.bytes??0,this.#t.delete(e),this.#n.delete(e)}};function my({channel:t,chunk:e}){return jD+2*(t.length+e.length)}s(my,"sizeOf");function py({ledger:t}){return{list:s(async(e,{openOnly:n},{limit:r,cursor:o})=>{let{faults:i,next:a}=await t.integrity.page({tenantId:e.tenantId,deployment:gy(e),openOnly:n},{limit:r,after:o===void 0?void 0:GD(o)});return{faults:i.map(Vs),nextCursor:a===void 0?null:FD(a)}},"list"),acknowledge:s(async(e,n,r)=>{let o=V(n)?await t.integrity.get(n):null;if(o===null||!zD(e,o))throw fy();let i=await t.integrity.acknowledge(n,{actor:e.subject,reason:r});if(i===null)throw fy();return{acknowledged:i.acknowledged,fault:Vs(i.fault)}},"acknowledge")}}s(py,"createIntegrity");var gy=s(({permissions:t})=>t.includes("deployment:integrity"),"seesDeployment");function zD(t,{tenantId:e}){return e===null?gy(t):e===t.tenantId}s(zD,"mayKnow");function FD(t){return`${t.open?"o":"c"}${gt(t)}`}s(FD,"faultCursorOf");function GD(t){let e=t.slice(0,1);return{...ht(e==="o"||e==="c"?t.slice(1):""),open:e==="o"}}s(GD,"faultPositionOf");function Vs(t){let{foundAt:e,seenAt:n,goneAt:r,acknowledged:o,...i}=t;return{...i,open:r===null&&o===null,foundAt:e.toISOString(),seenAt:n.toISOString(),goneAt:r===null?null:r.toISOString(),acknowledged:o&&{...o,at:o.at.toISOString()}}}s(Vs,"faultView");function fy(){return new x("not_found","There is no such fault.",{fix:"GET /v1/integrity has the faults that this token may see."})}s(fy,"absent");async function _y(t,e,{ledger:n,codec:r}){let o=e.cursor===void 0,i=e.cursor===void 0?{}:{after:ht(e.cursor)},[a,d,{copies:u,next:l}]=await Promise.all([o?n.evidence.terminalOf(t):null,o?n.evidence.rejectedOf(t):[],n.evidence.copiesOf(t,{limit:e.limit,...i})]);return{runId:t.runId,terminal:a===null?null:UD(a),rejected:await Promise.all(d.map(async({seq:c,call:m,at:f,worker:p,outcome:h,reason:b,body:E})=>({at:f.toISOString(),enqueueSeq:c,worker:p??"unknown",...qd(m),outcome:h,reason:b,...await hy(t,m,E,r)}))),copies:await Promise.all(u.map(async({seq:c,call:m,outcome:f,ordinal:p,tries:h,startedAt:b,completedAt:E,body:A})=>({at:E.toISOString(),enqueueSeq:c,...qd(m),outcome:f,ordinal:p,tries:h,startedAt:b.toISOString(),...await hy(t,m,A,r)}))),nextCursor:l===void 0?null:gt(l)}}s(_y,"evidenceOf");function UD({digest:t,bytes:e,text:n,writtenAt:r,agrees:o,seal:i}){return{digest:t,bytes:e,record:n,at:r.toISOString(),agrees:o,seal:i&&{number:i.number,at:i.sealedAt.toISOString(),digest:i.digest}}}s(UD,"recordView");function qd(t){let e=JSON.parse(t),[n,r,o,i]=e.length===2?[e[0],e[1],"",1]:[e[2],e[3],e[1],e[4]];return{kind:String(n),name:String(r),scope:String(o),nth:Number(i)}}s(qd,"callView");async function hy({tenantId:t,runId:e},n,{digest:r,bytes:o,text:i},a){let d=qd(n).kind==="emit"?"event":"result",u=i===null?null:JSON.parse(await a.decode(i,{tenantId:t,runId:e,kind:d}));return{digest:r,bytes:o,body:u}}s(hy,"bodyView");function yy(t){let e=t*3600;return{seconds:e,bucketSeconds:e/24}}s(yy,"stretchOf");function wy({since:t,complete:e,counts:n},{bucketSeconds:r}){let o=s(a=>t.getTime()+a*r*1e3,"startOf"),i=Array.from({length:24},(a,d)=>{let[u,l]=[o(d),o(d+1)],c=n.filter(({at:f})=>f.getTime()>=u&&(f.getTime()<l||d===23)),m={};for(let{status:f,runs:p}of c)m[f]=(m[f]??0)+p;return{at:new Date(u).toISOString(),statuses:m}});return{since:t.toISOString(),bucketSeconds:r,counted:n.reduce((a,{runs:d})=>a+d,0),complete:e,buckets:i}}s(wy,"countsOf");function by({pins:t,complete:e},n){let r=new Set(n.map(({name:o,digest:i})=>`${o}@${i}`));return{pinned:t.map(({name:o,version:i,digest:a,runs:d,oldestAt:u,released:l})=>({name:o,version:i,digest:a,openRuns:d,oldestAt:u.toISOString(),held:r.has(`${o}@${a}`)?"build":l?"release":"nowhere"})),complete:e}}s(by,"pinnedOf");function ky(t){let{ledger:e,codec:n,registry:r}=t;return{getRun:s(async(o,i)=>{if(!V(i))return;let a=await e.runs.get({tenantId:o,runId:i});if(a===null)return;let d={tenantId:o,runId:i},[u,l,c,m]=await Promise.all([e.items.ofRun(d),e.arms.openOfRun(d),e.reservations.ofRun(d),e.pauses.ofTenant(o)]);return WD(a,{items:u,arms:l,reservations:c,pauses:m},n)},"getRun"),listRuns:s(async(o,i,a)=>{let[{runs:d,nextCursor:u},l]=await Promise.all([e.runs.page(o,i,a),e.pauses.ofTenant(o)]);return{runs:d.map(c=>xy(c,l)),nextCursor:u}},"listRuns"),getTimeline:s(async(o,i)=>{if(!V(i))return;let a={tenantId:o,runId:i},d=await e.runs.get(a);if(d===null)return;let[u,l,c]=await Promise.all([e.deliveries.ofRun(a),e.journal.outline(a),e.skips.ofRun(a)]);return{runId:i,status:d.status,entries:Hs(d,u,l,c)}},"getTimeline"),getEvidence:s(async(o,i,a)=>{if(!(!V(i)||await e.runs.progress({tenantId:o,runId:i})===null))return _y({tenantId:o,runId:i},a,t)},"getEvidence"),countRuns:s(async(o,i,a)=>{let d=yy(a);return wy(await e.runs.count(o,i,d),d)},"countRuns"),listPinned:s(async o=>by(await e.runs.pinned(o),r.carried()),"listPinned")}}s(ky,"createReads");var Lt=s(t=>t?.toISOString()??null,"iso");function xy(t,e){let n=s(r=>r===null?null:{reason:r.reason,at:r.at.toISOString()},"flag");return{runId:t.runId,parentRunId:t.parentRunId,redriveOf:t.redriveOf,redrivenAs:t.redrivenAs,workflow:t.workflow,status:t.status,queue:t.queue,priority:t.priority,agent:t.agent,labels:t.labels,idempotencyKey:t.idempotencyKey,requestedBy:t.requestedBy,enqueueSeq:t.enqueueSeq,steps:t.journalLength,errorCode:t.errorCode,attention:n(t.attention),quarantine:n(t.quarantine),pausedAt:Lt(t.pause?.at??null),pauses:Bs(t,e),deadlineAt:Lt(t.deadlineAt),createdAt:t.createdAt.toISOString(),startsAt:Lt(t.startsAt),startedAt:Lt(t.startedAt),finishedAt:Lt(t.finishedAt)}}s(xy,"summaryOf");async function WD(t,e,n){let{tenantId:r}=t,o=s(async(i,a,d=t.runId)=>i===null?null:JSON.parse(await n.decode(i,{tenantId:r,runId:d,kind:a})),"read");return{...xy(t,e.pauses),waits:e.arms.map(({call:{kind:i,name:a,scope:d},dueAt:u,consentId:l,attemptId:c,childRunId:m})=>({kind:i,name:a,scope:d,dueAt:Lt(u),consentId:l,attemptId:c,childRunId:m})),reservations:e.reservations.map(i=>({...i,askedAt:i.askedAt.toISOString(),heldAt:Lt(i.heldAt)})),input:await o(t.inputText,"input",t.inputStoredFor),output:await o(t.outputText,"output"),error:await o(t.errorText,"error"),bodiesEmptiedAt:Lt(t.bodiesEmptiedAt),containment:e.items.map(z_)}}s(WD,"viewOf");function Ys({ledger:t,closeChannel:e}){return{name:"endings",asks:!1,find:s(n=>t.evidence.due(n),"find"),describe:s(({act:n,endedAt:r})=>({rule:_r[n],before:`ended at ${r.toISOString()}`}),"describe"),repair:s(async n=>{let r=[];for(let o of n){let i=await t.evidence.repair(o);i&&o.act==="record"&&await e?.(o),r.push(i?Q:J)}return r},"repair")}}s(Ys,"endingsPass");var BD={bodiesMs:null,stepsMs:null,repairsMs:null},Ey=1e3,KD={bodies:"bodies of a run older than they are kept: empty them",steps:"copies of steps older than they are kept: empty them",repairs:"repairs older than they are kept: forget them"};function Qs({ledger:t,retention:e=BD}){let n=s(async(r,o)=>{for(;;){let i=await t.retention.empty(r,Ey,e);if(i===null)return J;if(i<Ey)return Q;if(o.signal.aborted||o.withinMs()<1e3)return J}},"empty");return{name:"retention",asks:!1,find:s(r=>t.retention.due(e,r),"find"),describe:s(({kind:r,runId:o,tenantId:i})=>({rule:KD[r],before:o===null?`tenant ${i}`:`run ${o}`}),"describe"),repair:s(async(r,o)=>{let i=[];for(let a of r)i.push(await n(a,o));return i},"repair")}}s(Qs,"retentionPass");var vy=3e3,HD={seal:"records not sealed: seal them",doubt:"evidence in doubt: look again",check:"seals to check: compare the next one with its records"};function Xs(t){return{name:"seals",asks:!1,find:s(e=>t.ledger.seals.due(e),"find"),describe:s(({kind:e,tenantId:n,runId:r})=>({rule:HD[e],before:r===null?`tenant ${n}`:`run ${r}`}),"describe"),repair:s(async(e,n)=>{let r=[];for(let o of e)r.push(await JD(o,n,t));return r},"repair")}}s(Xs,"sealsPass");async function JD(t,e,n){return t.kind==="check"?QD(n):t.runId!==null?Iy({tenantId:t.tenantId,runId:t.runId},n):VD(t.tenantId,e,n)}s(JD,"lookAfter");async function VD(t,e,n){let{ledger:r,faults:o,log:i}=n,a=J;for(;;){let d=await r.seals.runsToSeal(t),{good:u,doubted:l}=await YD(t,d,e,n);if(l>0&&(a=Q),u.length===0)return a;await o("seals.before-seal",`${u.length} records`);let c=await r.seals.make(t,u);if(await o("seals.after-seal",`${u.length} records`),c===null)return a;let{number:m,records:f,digest:p}=c;if(i.info("evidence sealed",{tenantId:t,number:m,records:f,digest:p}),a=Q,d.length<xr||e.withinMs()<vy)return a}}s(VD,"seal");async function YD(t,e,n,r){let{ledger:o}=r,i=[],a=0,d=await o.evidence.slices(e.map(u=>({tenantId:t,runId:u})));for(let[u,l]of d.entries()){if(u>0&&n.withinMs()<vy)break;for(let{runId:c,fault:m,missing:f,ended:p}of await o.evidence.judge(l)){if(m!==null&&f&&p)await o.evidence.writeMissing({tenantId:t,runId:c});else if(m!==null){a+=1,await Iy({tenantId:t,runId:c},r);continue}i.push(c)}}return{good:i,doubted:a}}s(YD,"judge");async function Iy(t,{ledger:e,log:n}){await e.evidence.writeMissing(t);let{kind:r,isNew:o,detail:i}=await e.evidence.settleDoubt(t,"evidence");return r==="agrees"?Q:(o&&n.error("the evidence of a run is wrong: it is quarantined",{runId:t.runId,reason:i}),o?Q:J)}s(Iy,"doubt");async function QD({ledger:t,log:e}){let{faults:n}=await t.seals.checkNext();for(let{runId:r,subject:o,detail:i}of n)e.error("sealed evidence is wrong",{...r===null?{owner:o}:{runId:r},reason:i});return n.length>0?Q:J}s(QD,"check");var Zs=class{static{s(this,"Rounds")}#e;#t;#n;#r;#o;#s;#d=0;#i=!1;constructor(e,n,r){this.#e=e,this.#t=n,this.#n=r?.round?.number,this.#r=r?.round?.until,this.#o=r?.round?.after,this.#s=this.#n!==void 0}get look(){return{after:this.#o,until:this.#r}}get whole(){return this.#i}get short(){return this.#d}async advance(e){if(e===void 0)return this.#u();if(this.#n===void 0){let n=await this.#t.reconciler.beginRound(this.#e);[this.#n,this.#r]=[n.number,n.until]}this.#o=e,await this.#t.reconciler.advance(this.#e,this.#n,e)}async forget(){this.#s&&this.#n!==void 0&&await this.#t.reconciler.endRound(this.#e,this.#n)}async#u(){this.#n===void 0?this.#d+=1:await this.#t.reconciler.endRound(this.#e,this.#n),this.#i=!this.#s,this.#s=!1,this.#n=this.#r=this.#o=void 0}};var Yr=class{static{s(this,"Turns")}#e;#t=new Set;#n=new Set;constructor(e){this.#e=e}has(e){return this.#n.has(e)}async give(e,n,r=!1){let o=r?1:this.#e.pass.batch??1,i=[],a=!0;for(let d=0;d<e.length;d+=o){if(!await this.#r()){a=!1;break}i.push(this.#s(e.slice(d,d+o),n))}return{all:a,ends:Promise.all(i).then(()=>{})}}async places(){return await this.#r()?this.#e.atOnce-this.#t.size:0}async rest(){for(;this.#t.size>0&&this.#e.leftMs()>0;)await this.#o()}async end(){await Promise.all(this.#t)}async#r(){let{atOnce:e,leftMs:n}=this.#e;for(;this.#t.size>=e&&n()>0;)await this.#o();return this.#t.size<e&&n()>0}async#o(){await ce(Promise.race(this.#t),this.#e.leftMs())}#s(e,n){for(let{owner:o}of e)this.#n.add(o);let r=this.#d(e).then(o=>{this.#t.delete(r);for(let[i,a]of e.entries())this.#n.delete(a.owner),n(a,o[i]??{kind:"failed",reason:"its pass says nothing of it"})});return this.#t.add(r),r}async#d(e){let{pass:n,clock:r,log:o}=this.#e,i=this.#e.deadlineMs(),a=r.monotonicMs()+i,d=new AbortController;try{return await re(n.repair(e,{signal:d.signal,withinMs:s(()=>a-r.monotonicMs(),"withinMs")}),i)}catch(u){let l=v(u);for(let{runId:c,owner:m}of e)o.warn("an owner of a pass could not be looked after",{pass:n.name,runId:c,owner:m,error:l});return e.map(()=>({kind:"failed",reason:l}))}finally{d.abort()}}};var ei=class{static{s(this,"PassRun")}#e;#t;#n;#r;#o;#s={pages:0,found:0,repaired:0,left:0,failed:0};#d=[];#i=s(()=>0,"#leftMs");#u;#m;#a;#l;constructor(e,n){let{ledger:r,standing:o,clock:i}=n;this.#e=e,this.#t=n,this.#n=new Yr({...n,pass:e,leftMs:s(()=>this.#i(),"leftMs")}),this.#r=new Yr({...n,pass:e,leftMs:s(()=>this.#i(),"leftMs")}),this.#o=new Zs(e.name,r,o),this.#m=o?.degraded??!1,this.#a=this.#l=i.monotonicMs()}async go(e){let n=e()/2;try{let r=this.#t.standing?.degradedDue===!0;this.#i=r?()=>e()-n:e,await this.#c(),this.#i=e,r&&await this.#p(),this.#o.whole||await this.#c(),await this.#n.rest(),await this.#r.rest()}catch(r){this.#w(r),await this.#o.forget().catch(o=>this.#w(o))}this.#l=this.#t.clock.monotonicMs()}async end(){await Promise.all([this.#n.end(),this.#r.end()]);for(let e of this.#d)await e.catch(n=>this.#w(n))}note(e){return{pass:this.#e.name,rounds:this.#o.short,startedBefore:(e-this.#a)/1e3,endedBefore:(e-this.#l)/1e3,...this.#s,error:this.#u??null}}report(e){let n=this.#u;return{...this.#s,degraded:e,...n===void 0?{}:{error:n}}}async#c(){for(;!this.#o.whole&&(this.#s.pages===0||this.#i()>0);){let{found:e,next:n}=await this.#_({limit:this.#t.pageSize,...this.#o.look});this.#s.pages+=1;let r=Sy(e).filter(({owner:i})=>!this.#n.has(i)),o=await this.#f(r);if(this.#s.found+=o.length,o.length>0&&(await this.#t.faults(`${this.#e.name}.after-select`,`${o.length} due`),!await this.#g(o)))return;await this.#o.advance(n)}}async#f(e){if(!this.#m||e.length===0)return e;let n=e.map(({owner:o})=>o),r=await this.#t.ledger.reconciler.degradedAmong(this.#e.name,n);return e.filter(({owner:o})=>!r.has(o))}async#g(e){let n=[],{all:r,ends:o}=await this.#n.give(e,(i,a)=>{this.#b(a),a.kind==="failed"&&a.ownTime!==!0&&n.push({...XD(i),reason:a.reason})});return this.#y(o.then(async()=>{if(n.length===0)return;this.#m=!0;let{ledger:i,ids:a,faults:d}=this.#t;await i.reconciler.degrade(this.#e.name,a.next(),n),await d("reconciler.after-degrade",this.#e.name)})),r}async#p(){let{ledger:e,faults:n}=this.#t;for(let r=await this.#r.places();r>0;r=await this.#r.places()){let o=await e.reconciler.takeTurns(this.#e.name,r);if(o.length===0)return;await n("reconciler.after-turns",this.#e.name);let i=new Map(o.map(l=>[l.owner,l])),{found:a}=await this.#_({limit:o.length,owners:[...i.keys()]}),d=Sy(a),u=new Set(d.map(({owner:l})=>l));await e.reconciler.clean(this.#e.name,o.filter(({owner:l})=>!u.has(l))),this.#s.found+=d.length,await this.#r.give(d,(l,c)=>{this.#b(c),this.#y(this.#h(i.get(l.owner),c))},!0)}}async#h(e,n){let{ledger:r}=this.#t;e!==void 0&&(n.kind==="failed"&&n.ownTime!==!0?await r.reconciler.noteReason(this.#e.name,e,n.reason):await r.reconciler.clean(this.#e.name,[e]))}#_(e){return re(this.#e.find(e),this.#t.deadlineMs())}#b({kind:e}){this.#s[e]+=1}#y(e){e.catch(()=>{}),this.#d.push(e)}#w(e){let n=v(e);this.#u??=n,this.#t.log.error("a pass was interrupted",{pass:this.#e.name,error:n})}};function Sy(t){return[...new Map(t.toReversed().map(e=>[e.owner,e])).values()].toReversed()}s(Sy,"distinct");function XD({owner:t,tenantId:e,runId:n}){return{owner:t,tenantId:e,runId:n}}s(XD,"ownerOf");var Ay={asks:3,other:1};async function ti(t,e){let{clock:n,remainingMs:r,pageBudgetMs:o,settings:i}=e,a=Math.min(i.ownerDeadlineMs,Math.max(0,(r()-o)/2)),d=a+o,u=s(()=>Math.max(0,r()-o/4),"leftMs"),l=await eP(t,a,e),c=[];for(let[p,h]of t.entries()){let b=r(),E=(b-d)*ZD(t.slice(p)),A=new ei(h,{...e,atOnce:h.asks?i.asksAtOnce:i.ownersAtOnce,deadlineMs:s(()=>Math.max(0,Math.min(a,r()-o/2)),"deadlineMs"),standing:l.get(h.name)});E>0&&await A.go(()=>E-(b-r())),c.push({name:h.name,run:A})}let m=Promise.all(c.map(({run:p})=>p.end()));await ce(m,u())||e.log.warn("what came of some owners could not be written in time; they are looked at again");let f=await tP(c.map(({run:p})=>p.note(n.monotonicMs())),u(),e);return new Map(c.map(({name:p,run:h})=>[p,h.report(f.get(p)??0)]))}s(ti,"runPasses");function ZD(t){let e=s(({asks:r})=>r?Ay.asks:Ay.other,"weightOf"),[n]=t;return n===void 0?0:e(n)/t.reduce((r,o)=>r+e(o),0)}s(ZD,"shareOf");async function eP(t,e,{ledger:n,log:r}){try{let o=n.reconciler.passes(t.map(({name:i})=>i));return await re(o,e)}catch(o){return r.warn("the reconciler's rows could not be read: every pass begins at its first row",{error:v(o)}),new Map}}s(eP,"standingOf");async function tP(t,e,{ledger:n,log:r,worker:o}){try{return await re(n.reconciler.note(o,t),e)}catch(i){return r.warn("what the passes did could not be written",{error:v(i)}),new Map}}s(tP,"noted");function Ry(t){let{ledger:e}=t,n={name:"children",asks:!1,find:s(async o=>ve(await e.children.ends(o),({runId:i})=>i),"find"),describe:s(({runId:o})=>({rule:"a child has ended: tell its parent",before:`child ${o} has ended, and its parent may not know`}),"describe"),repair:s(async([o])=>o===void 0?[]:[await r(o)],"repair")},r=s(async o=>{let{runId:i,parentRunId:a}=o,{publisher:d,faults:u,log:l,settings:c}=t,m=await e.children.tellParent(o,c.publisherGraceSeconds,Ie(n,o));return await u("children.after-tell",i),m.resumption!==null&&(l.info("a run was brought back by the end of its child",{runId:a,childRunId:i}),await d.publish(m.resumption)),m.told?Q:J},"tell");return n}s(Ry,"childrenPass");var nP=120,rP=10;function $y(t){return{name:"dead-letters",asks:!0,find:s(e=>sP(e,t),"find"),describe:s(e=>{if("failure"in e)return{rule:"a queue that cannot be read: try again",before:e.queue};let{letter:n,message:r,queue:o,runId:i}=e;return{rule:oP(n),before:i===null?`message ${r.messageId} of ${o}`:r.body}},"describe"),repair:s(e=>Promise.all(e.map(n=>dP(n,t))),"repair")}}s($y,"deadLettersPass");function oP(t){return t.kind==="republish"?"dead letter of a delivery that waits: publish anew":t.kind==="drop"?`dead letter that is of no use (${t.reason}): delete`:`dead letter that names nothing here (${t.reason}): keep`}s(oP,"ruleOf");async function sP(t,e){let{ledger:n,deadLetters:r}=e;if(r===void 0||t.owners!==void 0)return{found:[],next:void 0};let o=Math.max(1,Math.floor(t.limit/r.names.length)),i=await Promise.all(r.names.map(a=>iP(a,o,r,n)));return await n.deadLetters.forget(),{found:i.flat(),next:void 0}}s(sP,"find");async function iP(t,e,n,r){let{messages:o,unread:i}=await aP(t,e,n),a=o.flatMap(({body:l})=>yt(l)??[]),d=a.length===0?new Map:await r.deliveries.unclaimed(a);return[...o.map(l=>{let c=yt(l.body),m=gi(l.body,c===void 0?void 0:d.get(`${c.runId}:${c.enqueueSeq}`));return{tenantId:"",runId:m.kind==="keep"?null:c?.runId??null,owner:l.messageId,queue:t,message:l,letter:m}}),...i]}s(iP,"read");async function aP(t,e,n){let r=[];try{for(;r.length<e;){let o=Math.min(rP,e-r.length),i=await n.queue.receive(t,{max:o,waitSeconds:0,visibilitySeconds:nP});if(i.length===0)break;r.push(...i)}}catch(o){return{messages:r,unread:[{tenantId:"",runId:null,owner:`queue ${t}`,queue:t,failure:o}]}}return{messages:r,unread:[]}}s(aP,"receive");async function dP(t,e){if("failure"in t)throw t.failure;let{ledger:n,deadLetters:r,faults:o,log:i}=e,{queue:a,message:d,letter:u}=t;if(r===void 0)return J;let{messageId:l,receiptHandle:c,body:m}=d;if(u.kind==="keep"){let{reason:p}=u,h=Buffer.byteLength(m),b={queue:a,messageId:l,bodyDigest:q(m),bytes:h,reason:p};return await n.deadLetters.note(b)&&i.error("a dead letter names nothing of this ledger; it stays for a person",{queue:a,messageId:l,reason:p,bytes:h}),await r.queue.changeVisibility(a,c,0),J}let f=u.kind==="republish"&&await n.deadLetters.republish(u.ref);return await o("dead-letters.after-repair",l),await r.queue.delete(a,c),i.info("a dead letter was reconciled",{queue:a,messageId:l,outcome:u.kind,...t.runId===null?{}:{runId:t.runId},...u.kind==="drop"?{reason:u.reason}:{}}),f?Q:J}s(dP,"settle");function uP(t){return Math.min(3600,30*2**Math.min(t,10))}s(uP,"nextLookSeconds");function Oy(t){let{ledger:e}=t,n={name:"consents",asks:!0,find:s(async r=>ve(await e.consents.toLookUp(r),({consentId:o})=>o),"find"),describe:s(({source:r,status:o})=>({rule:`its decision source is to be asked: ${r??"none"}`,before:o}),"describe"),repair:s(async([r],o)=>r===void 0?[]:await e.consents.postponeLookUp(r,uP(r.looks))?[await lP(r,{options:t,turn:o,repair:Ie(n,r)})]:[J],"repair")};return n}s(Oy,"consentsPass");async function lP(t,{options:e,turn:n,repair:r}){let{ledger:o,publisher:i,codec:a,faults:d,log:u,settings:l}=e,c=t.source??"",m=Object.hasOwn(e.decisionSources,c)?e.decisionSources[c]:void 0;if(m===void 0)throw new Error(`the configuration has no decision source "${c}"`);let{tenantId:f,runId:p,consentId:h,title:b,requestText:E,requestDigest:A}=t,F=JSON.parse(await a.decode(E,{tenantId:f,runId:p,kind:"consent"})),M={tenantId:f,runId:p,consentId:h,title:b,digest:A,detail:F.detail},j=Ti(await re(m.lookUp(M,n.signal),n.withinMs()));if(await d("consents.after-look",h),j.outcome==="pending")return J;let H=j.comment??null,me=H===null?null:await a.encode(H,{tenantId:f,runId:p,kind:"comment"}),ge=await o.consents.decide({tenantId:f,consentId:h},{subject:`source:${c}/${j.by}`.slice(0,300),roles:[],verdict:j.outcome,digest:A,commentText:me,commentDigest:me===null?null:q(me)},{publisherGraceSeconds:l.publisherGraceSeconds,asSource:!0,repair:r});if(ge===null)return J;ge.resumption!==null&&await i.publish(ge.resumption);let{outcome:Y}=j;if(ge.judgement.kind!=="counts"){let{status:Mt}=ge.consent;return u.info("a decision source was late",{runId:p,source:c,outcome:Y,status:Mt}),ge.judgement.kind==="expired"?Q:J}return u.info("a decision source has decided a consent",{runId:p,source:c,outcome:Y}),Q}s(lP,"lookUp");function Cy(t){let{ledger:e,faults:n,log:r,settings:o}=t,i={name:"containment",asks:!1,find:s(async u=>ve(await e.items.due(u),({runId:l})=>l),"find"),describe:s(({runStatus:u,openItems:l})=>({rule:l===0?"nothing is left to contain: end it":"its items are due for a look",before:`${u}, open items ${l}`}),"describe"),repair:s(async([u])=>u===void 0?[]:[await a(u)],"repair")},a=s(async u=>{let{tenantId:l,runId:c}=u,m={tenantId:l,runId:c},f=await e.items.contain(m,o.maxContainDeliveries,Ie(i,u));await n("containment.after-look",c),f.ended!==null?r.info("a run has ended, and nothing of it can act any more",{runId:c,status:f.ended}):f.needsWord&&await e.runs.raiseAttention(m,ie("containment","something of the run waits for a word"));let p=f.children?await d(u):{any:!1,failure:void 0};return p.failure!==void 0?{kind:"failed",reason:p.failure}:f.moved||p.any?Q:J},"contain"),d=s(async u=>{let l={actor:`run ${u.runId}`,reason:"its parent goes on without it"},c={pass:i.name,rule:"its parent is ending: cancel it",before:`child of ${u.runId}`},m=!1,f;for(let p of await e.children.toCancel(u))try{let h=await e.children.cancel(p,l,o.actsMarginSeconds,c);m||=h?.cancelled===!0,await n("containment.after-cancel",p.runId)}catch(h){f=v(h),r.warn("a child could not be cancelled",{runId:p.runId,error:f})}return{any:m,failure:f}},"cancelChildren");return i}s(Cy,"containmentPass");function Dy(t){let{ledger:e}=t,n={name:"deadlines",asks:!1,find:s(async o=>ve(await e.runs.overdue(o),({runId:i})=>i),"find"),describe:s(({status:o,deadlineAt:i})=>({rule:"its deadline has passed: end it",before:`${o}, deadline ${i.toISOString()}`}),"describe"),repair:s(async([o])=>o===void 0?[]:[await r(o)],"repair")},r=s(async o=>{let{faults:i,log:a,settings:d}=t,u={code:"deadline",name:"Deadline",message:`the run's deadline ${o.deadlineAt.toISOString()} has passed while it was ${o.status}`},l=await Hn(o,u,t);if(l===void 0)return{kind:"failed",reason:"the codec could not write why it ends"};let c=Ie(n,o),m=await e.runs.failOverdue({...o,...l},d.actsMarginSeconds,c);return await i("deadlines.after-failure",o.runId),m===null?J:(a.warn("a run's deadline has passed",{runId:o.runId,status:m}),Q)},"end");return n}s(Dy,"deadlinesPass");function Ny(t){let{ledger:e}=t,n={name:"delegates",asks:!0,find:s(async r=>ve(await e.attempts.due(r),({attemptId:o})=>o),"find"),describe:s(r=>({rule:r.heartLapsed?"its heartbeat has lapsed: lookUp":`its job is due: ${Zr(vt(r))}`,before:r.status}),"describe"),repair:s(async([r],o)=>r===void 0?[]:[await cP(r,o.withinMs,t,Ie(n,r))],"repair")};return n}s(Ny,"delegatesPass");async function cP(t,e,n,r){let{runId:o,attemptId:i,service:a}=t,{ledger:d,moved:u}=mP(n.ledger,t,r),l={...n,ledger:d,withinMs:e};try{let c=await fP(t,l);return await n.faults("delegates.after-look",i),c==="silent"?{kind:"failed",reason:`${a} did not answer`}:u()?Q:J}catch(c){let m=v(c);if(n.log.warn("a job could not be looked after",{runId:o,attemptId:i,service:a,error:m}),!n_(c))return{kind:"failed",reason:m};let f=T(c).message.slice(0,300);return{kind:"failed",reason:m,ownTime:await _P(t,f,l)}}}s(cP,"lookAt");function mP({attempts:t},e,n){let r=!1;return{ledger:{attempts:{...t,change:s(async(i,a,d,u)=>{let l=await t.change(i,a,{...d,repair:n},u);return r||=l!==null&&l.status!==e.status,l},"change"),claimSubmission:s(async(i,a)=>{let d=await t.claimSubmission(i,{...a,repair:n});return r||=d,d},"claimSubmission"),askToCancel:s((i,a)=>t.askToCancel(i,a,n),"askToCancel")}},moved:s(()=>r,"moved")}}s(mP,"noting");async function fP(t,e){let n=t.heartLapsed?await pP(t,e):t;if(n===void 0)return"answered";switch(Zr(vt(n))){case"drop":return await Ld(n,{state:"cancelled"},e),"answered";case"submit":return await qy(n,e),"answered";case"wait":return await gP(n,e),"answered";case"lookUp":return Py(n,await Td("lookUp",n,e),e);case"cancel":return Py(n,await hP(n,e),e)}}s(fP,"act");async function pP(t,e){let n=`it has said nothing for more than ${t.heartbeatSeconds} s`,r=await e.ledger.attempts.change(t,o=>o.status===t.status&&o.token===t.token&&o.heartLapsed?{status:"UNCERTAIN",why:n,by:"time",acknowledged:!1,missed:!1,nextLookSeconds:mt(o,"UNCERTAIN")}:void 0,e.settings);return await St(t,r,e),r===null?void 0:{...t,status:"UNCERTAIN",uncertainReason:n,looks:0,misses:0,heartLapsed:!1}}s(pP,"withoutHeartbeat");async function gP(t,e){let{status:n,demand:r}=vt(t),o=n==="SUBMITTED"||n==="RUNNING";return n==="DEFINED"||t.unsent||o&&r!=="no"?e.ledger.attempts.change(t,i=>i.status===n&&i.token===t.token?{status:n,by:"time",acknowledged:!1,missed:!1,nextLookSeconds:mt(i,n)}:void 0,e.settings):Ld(t,{state:"unknown",why:"its service can be asked neither about a job nor to cancel one"},e)}s(gP,"waitOn");async function hP(t,e){let n=t.overdue&&t.armOpen?"deadline":"ended";if(!await e.ledger.attempts.askToCancel(t,n))return;let r=await Td("cancel",t,e);if(["cancelled","succeeded","failed"].includes(r.state)||t.traits.lookup==="none")return r;let i=await Td("lookUp",t,e);return i.state==="unknown"?r:i}s(hP,"cancel");async function Py(t,e,n){return e===void 0?"answered":zt(vt(t),e).kind==="resubmit"?(await qy(t,n),"answered"):(await Ld(t,e,n),e.state==="unknown"?"silent":"answered")}s(Py,"settle");async function qy(t,e){await Ms(t,e,e.remainingMs,e.withinMs)}s(qy,"submit");function Ld(t,e,n){return Ts(t,e,{late:t.late||t.status==="DEFINED"||t.unsent},n)}s(Ld,"record");async function Td(t,e,n){let{tenantId:r,runId:o,attemptId:i,idempotencyKey:a}=e,d={tenantId:r,runId:o,attemptId:i,idempotencyKey:a},u=vd(e,n.delegation),{answer:l}=await Id(u,e.service,{kind:t,job:d},n.withinMs(),n);return l}s(Td,"question");async function _P(t,e,n){let{ledger:r,settings:o,log:i}=n,{status:a,token:d}=t,u=t.misses+1<3,c=a!=="DEFINED"&&(a!=="SUBMITTING"||t.late)&&!u?"UNCERTAIN":a;try{let m=await r.attempts.change(t,f=>f.status===a&&f.token===d?{status:c,why:e,by:"time",acknowledged:!1,missed:!0,nextLookSeconds:u?yP:mt(f,c),...u?{}:{attention:e}}:void 0,o);return await St(t,m,n),!0}catch(m){return i.warn("a person could not be asked for",{runId:t.runId,error:v(m)}),!1}}s(_P,"askForAPerson");var yP=30;function Ty(t){let{ledger:e,pageSize:n}=t,r={name:"holds",asks:!1,batch:n,find:s(async i=>ve(await e.deliveries.expiredHolds(i),({runId:a})=>a),"find"),describe:s(({expiredAt:i})=>({rule:"its hold has expired: end it",before:`QUEUED, held until ${i.toISOString()}`}),"describe"),repair:o};async function o(i,a){let{faults:d,log:u}=t,l=Gs(a),c=await Promise.all(i.map(h=>Hn(h,wP(h),t,l))),m=i.flatMap((h,b)=>{let E=c[b];return E===void 0?[]:[{...h,...E,repair:Ie(r,h)}]}),f=await e.deliveries.expireHolds(m);await d("holds.after-expiry",`${f.length} ended`);for(let{runId:h,status:b}of f)u.info("a held run was not released in time",{runId:h,status:b});let p=new Set(f.map(({runId:h})=>h));return i.map(({runId:h},b)=>c[b]===void 0?{kind:"failed",reason:"the codec could not write why it ends"}:p.has(h)?Q:J)}return s(o,"expire"),r}s(Ty,"holdsPass");function wP({expiredAt:t}){return{code:"hold_expired",name:"Expired",message:`the run was held until ${t.toISOString()}, and nobody released it`}}s(wP,"failureOf");function Ly(t){let{ledger:e,pageSize:n}=t,r={name:"relay",asks:!1,batch:n,find:s(async i=>ve(await e.deliveries.duePublications(i),({runId:a})=>a),"find"),describe:s(({enqueueSeq:i,publications:a})=>({rule:"its publication is due: publish",before:`delivery ${i} PENDING published ${a} times`}),"describe"),repair:s(i=>o(i),"repair")},o=s(async i=>{let{queue:a,faults:d,log:u}=t,{confirmed:l,failed:c}=await a.publish(i);await d("relay.after-publish",`${l.length} confirmed`);let m=new Set(l.map(({runId:h})=>h)),f=await e.deliveries.markRelayed(i.filter(({runId:h})=>m.has(h)).map(h=>({...h,repair:Ie(r,h)})));await e.deliveries.markPublicationFailed(c);let p=new Map(c.map(({publication:h,reason:b})=>[h.runId,b]));for(let[h,b]of p)u.warn("the relay could not publish a delivery",{runId:h,reason:b});for(let h of i)h.publications+1<Di||!m.has(h.runId)||await e.runs.raiseAttention(h,ie("unclaimed","published again and again, and claimed by no worker"));return i.map(({runId:h})=>m.has(h)?f.has(h)?Q:J:{kind:"failed",reason:p.get(h)??"the queue did not say",ownTime:!0})},"publish");return r}s(Ly,"relayPass");function My(t){let{ledger:e}=t,n={name:"timers",asks:!1,find:s(async o=>ve(await e.arms.due(o),({runId:i})=>i),"find"),describe:s(({runStatus:o})=>({rule:"its time is over: resume",before:o}),"describe"),repair:s(async([o])=>o===void 0?[]:[await r(o)],"repair")},r=s(async o=>{let{tenantId:i,runId:a,armId:d,lateSeconds:u}=o,{publisher:l,faults:c,metrics:m,log:f,settings:p}=t,h={tenantId:i,runId:a},b=await e.runs.resumeDue(h,p.publisherGraceSeconds,Ie(n,o));return await c("timers.after-resume",a),b===null?J:(m.record("TimerLateness",u),f.info("a run was brought back by its timer",{runId:a,armId:d,lateSeconds:Math.round(u)}),await l.publish(b),Q)},"resume");return n}s(My,"timersPass");function ni(t){let e={reanimation:g_(t),holds:Ty(t),deadlines:Dy(t),timers:My(t),consents:Oy(t),delegates:Ny(t),containment:Cy(t),children:Ry(t),endings:Ys(t),seals:Xs(t),retention:Qs(t),"dead-letters":$y(t),relay:Ly(t)};return ot.map(n=>e[n])}s(ni,"passesOf");async function ri(t){return Object.fromEntries(await ti(ni(t),t))}s(ri,"reconcile");async function jy(t,e,n){let r=[];for(let o of t)r.push(await bP(o,e,n()));return r}s(jy,"lookOnly");async function bP(t,e,n){let r={pass:t.name,did:"looked",repaired:0,left:0,failed:0,degraded:0};try{let{found:o,next:i}=await re(t.find({limit:e}),n),a=o.map(d=>{let{tenantId:u,runId:l,owner:c}=d;return{tenantId:u,runId:l,owner:c,...t.describe(d)}});return{...r,found:o.length,error:null,findings:a,more:i!==void 0}}catch(o){return{...r,found:0,error:v(o),findings:[],more:!0}}}s(bP,"look");function Fy(t){let{ledger:e,clock:n,answerMs:r,pageSize:o}=t;return{state:s(async({limit:i,cursor:a,degradedCursor:d})=>{let[u,l,{owners:c,next:m},{repairs:f,next:p}]=await Promise.all([e.reconciler.states(),e.reconciler.degradedPages(i),e.reconciler.degradedOwners(i,d===void 0?void 0:IP(d)),e.reconciler.repairs(i,a===void 0?void 0:ht(a))]);return{passes:oi(u).map(kP),degradedPages:oi(l).map(xP),degradedOwners:oi(c).map(EP),nextDegradedCursor:m===void 0?null:Buffer.from(`${m.pass} ${m.owner}`).toString("base64url"),repairs:oi(f).map(vP),nextCursor:p===void 0?null:gt(p)}},"state"),run:s(async({passes:i,dryRun:a=!1})=>{let d=n.monotonicMs()+r,u=s(()=>d-n.monotonicMs(),"remainingMs"),l=ni({...t,remainingMs:u}).filter(({name:f})=>i?.includes(f)??!0),c=s(({name:f})=>f==="dead-letters","blind");if(a){let f=await jy(l.filter(p=>!c(p)),o,u);return{dryRun:a,passes:[...f,...l.filter(c).map(({name:p})=>zy(p))]}}await e.reconciler.makeDue(l.map(({name:f})=>f));let m=await ti(l.filter(({asks:f})=>!f),{...t,remainingMs:u});return{dryRun:a,passes:l.map(({name:f})=>{let p=m.get(f);if(p===void 0)return zy(f);let{pages:h,error:b=null,...E}=p;return{pass:f,did:"ran",...E,error:b,findings:[],more:h===0}})}},"run")}}s(Fy,"createReconcilerService");function zy(t){return{pass:t,did:"later",...{found:0,repaired:0,left:0,failed:0,degraded:0},error:null,findings:[],more:!1}}s(zy,"later");function oi(t){return t.flatMap(e=>{let n=ot.find(r=>r===e.pass);return n===void 0?[]:[{...e,pass:n}]})}s(oi,"known");function kP(t){let{roundUntil:e,startedAt:n,endedAt:r}=t;return{...t,roundUntil:e?.toISOString()??null,startedAt:n?.toISOString()??null,endedAt:r?.toISOString()??null}}s(kP,"stateView");function xP(t){return{...t,degradedAt:t.degradedAt.toISOString(),nextTurnAt:t.nextTurnAt.toISOString()}}s(xP,"pageView");function EP(t){return{...t,degradedAt:t.degradedAt.toISOString(),nextTurnAt:t.nextTurnAt.toISOString()}}s(EP,"ownerView");function vP(t){return{...t,at:t.at.toISOString()}}s(vP,"repairView");function IP(t){let e=Buffer.from(t,"base64url").toString(),n=e.indexOf(" ");if(n<1||e.includes("\0"))throw new x("invalid_request","the cursor is none of ours",{fix:"Take nextDegradedCursor of the page before, or none for the first page."});return{pass:e.slice(0,n),owner:e.slice(n+1)}}s(IP,"ownerOf");var SP=3e4;function Gy(t){let{hint:e,clock:n,log:r,patienceMs:o=1e3}=t,i,a,d=s(()=>{if(i===void 0)return!1;let l=n.wallMs()-i.wallMs;return l>=0&&Math.max(l,n.monotonicMs()-i.monotonicMs)<SP},"remembered"),u=s(async()=>{let l={monotonicMs:n.monotonicMs(),wallMs:n.wallMs()};try{await re(e.lower(l.wallMs,l.wallMs),o),i=l}catch(c){r.warn("the reconciler's hint could not be lowered; its hourly look stands in for it",{error:v(c)})}finally{a=void 0}},"lower");return()=>d()?Promise.resolve():a??=u()}s(Gy,"createLowering");var Md=s(t=>Math.max(0,Math.min(5e3,t()/2)),"afterPassesMs");async function Uy(t,e){let{ledger:n,metrics:r,log:o,remainingMs:i}=e;for(let[a,{repaired:d,error:u}]of Object.entries(t))d>0&&r.record("Repairs",d,a),u!==void 0&&r.record("PassesInterrupted",1,a);try{let a=await re(n.health(),Md(i)),d=s((u,l)=>l>0?r.record(u,l):void 0,"tell");d("OldestUnrepaired",a.oldestUnrepairedSeconds),d("DegradedOwners",a.degradedOwners),d("RunsWithAttention",a.runsWithAttention),d("QuarantinedRuns",a.quarantinedRuns),d("IntegrityFaults",a.integrityFaults),d("ForeignDeadLetters",a.foreignDeadLetters)}catch(a){o.warn("what waits in the ledger could not be measured",{error:v(a)})}}s(Uy,"measure");function Wy(t,e){return t===void 0||t.dueAtMs<=e||Ky(t,e)?{connect:!0}:t.dueAtMs>e+36e5?{connect:!0}:{connect:!1,untilMs:t.dueAtMs}}s(Wy,"wakeOf");function By(t,e,n){if(t!==void 0&&Ky(t,e))return;let r=n.atMs+36e5;if(n.dueInSeconds===null)return r;if(!(n.dueInSeconds<=120))return Math.min(r,n.atMs+Math.floor(n.dueInSeconds*1e3))}s(By,"raisedTo");function Ky({openedAtMs:t},e){return t!==void 0&&e-t<12e4}s(Ky,"mayBeCommitting");async function Hy(t){let{clock:e,hint:n,log:r,hintPatienceMs:o=1500}=t,i=e.wallMs(),a;try{a={state:await re(n.read(),o)}}catch(l){r.warn("the hint could not be read: the ledger is looked at",{error:v(l)})}let d=Wy(a?.state,i);if(!d.connect)return{skipped:!0,until:new Date(d.untilMs).toISOString()};let u=await ri(t);return await Uy(u,t),n.keeps&&a!==void 0&&RP(u)&&await AP(t,a.state,i),u}s(Hy,"reconcileWhenDue");async function AP({ledger:t,hint:e,clock:n,log:r,remainingMs:o,hintPatienceMs:i=1500},a,d){try{let u=n.wallMs(),l=await re(t.nextLook(),Md(o)),c=By(a,d,{atMs:u,dueInSeconds:l});if(c===void 0)return;let m=Math.min(i,Math.max(0,o()));await re(e.raise(a?.version,u,c),m)}catch(u){r.warn("the hint could not be raised",{error:v(u)})}}s(AP,"raise");function RP(t){return Object.values(t).every(({pages:e,failed:n,error:r})=>r===void 0&&e>0&&n===0)}s(RP,"isWhole");var Jy={find:s(()=>Promise.resolve({kind:"none"}),"find")};function Yy({ledger:t,codec:e,ids:n,publisher:r,faults:o}){return{send:s(async(i,a,d)=>{if(!V(a))throw Vy();let{tenantId:u,subject:l}=i,{name:c,payloadText:m,idempotencyKey:f}=d,p=m===void 0?null:await e.encode(m,{tenantId:u,runId:a,kind:"signal"}),h=await t.signals.keep({tenantId:u,runId:a,signalId:n.next(),name:c,idempotencyKey:f??null,requestDigest:await Je(e,`${JSON.stringify(c)} ${m??""}`),payloadText:p,payloadDigest:p===null?null:q(p),sentBy:l},{publisherGraceSeconds:15});if(h===null)throw Vy();switch(await o("signals.after-commit",a),h.kind){case"kept":return h.resumption!==null&&await Dt(r,h.resumption),{runId:a,signalId:h.signalId,repeated:h.repeated,resumed:h.resumption!==null};case"conflict":throw new x("idempotency_conflict","the idempotency key was used for another signal",{fix:"Use a new key for a new signal, or send the same one again."});case"full":throw new x("too_many_signals",`${Nr} signals of the run wait to be taken already`,{fix:"Send it again once the run has taken some.",retryAfterSeconds:60});case"ended":throw new x("run_ended",`the run is ${h.status}: nothing takes a signal any more`,{fix:"Admit a new run."})}},"send")}}s(Yy,"createSignals");function Vy(){return new x("not_found","there is no such run",{fix:"Check the run id."})}s(Vy,"absent");export{Ku as core,Qy as engine,cg as ledger};
